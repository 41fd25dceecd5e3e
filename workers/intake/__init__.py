"""Claims come in as files: read, checked, kept, started."""

from workers.intake.desk import Intake, Known, Started
from workers.intake.examination import Parcel
from workers.intake.reader import Reader, Terms
from workers.intake.refusal import Refusal, RefusalKind

__all__ = ["Intake", "Known", "Parcel", "Reader", "Refusal", "RefusalKind", "Started", "Terms"]
