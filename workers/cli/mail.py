"""`reenvio mail tenants`: mail that waits and leaves, company by company."""

from domain.mail.names import QUEUE
from workers.cli.lazy import Entry, lazy_app

TABLE = {
    "tenants": Entry(
        "workers.cli.mail_tenants:tenants",
        "Where each company stands in the turns of mail: the six figures of TenantFairnessMetrics.",
    ),
}
mail_app = lazy_app(f"Mail ({QUEUE}): where companies stand in its turns.", TABLE)
