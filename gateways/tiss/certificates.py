"""Until when certificates of a payer's settings are good."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from cryptography import x509

from gateways.tiss.settings import PayerSettings


class CertificateUse(StrEnum):
    """What a certificate is for: to show who we are, or to know the payer by."""

    OWN = "own"
    AUTHORITY = "authority"


@dataclass(frozen=True, slots=True)
class CertificateEnd:
    """A certificate file: when the first of its certificates ends; None when it cannot be read."""

    use: CertificateUse
    ends_at: datetime | None


def certificate_ends(payer: PayerSettings) -> Iterator[CertificateEnd]:
    """Of each certificate file that a payer's settings name."""
    for use, file in ((CertificateUse.OWN, payer.certificate), (CertificateUse.AUTHORITY, payer.ca_file)):
        if file:
            yield CertificateEnd(use, _first_end(file))


def _first_end(file: Path) -> datetime | None:
    try:
        found = x509.load_pem_x509_certificates(file.read_bytes())
    except (OSError, ValueError):
        return None
    return min(one.not_valid_after_utc for one in found)
