"""Who gets mail, as the settings name them."""

from domain.catalog import Team
from workers.config.mail import MailSettings
from workers.mail.recipients import OtherGroup, Recipients, ReportGroup, read_companies


def recipients(mail: MailSettings) -> Recipients:
    """Who gets mail; where it does not leave, everybody has an address to look for in the folder."""
    groups = {
        Team.REGISTRATION: mail.to_registration,
        Team.BILLING_MANAGEMENT: mail.to_billing_management,
        Team.OPERATIONS: mail.to_operations,
        OtherGroup.ADMINISTRATOR: mail.to_administrator,
        ReportGroup.DATA_ANALYSIS: mail.to_data_analysis,
        ReportGroup.QUALITY: mail.to_quality,
        ReportGroup.BILLING: mail.to_billing,
        ReportGroup.IT_MANAGEMENT: mail.to_it_management,
    }
    named = {str(group): to if to or mail.leaves else (_local(group),) for group, to in groups.items()}
    return Recipients(named, read_companies(mail.companies_file))


def _local(group: str) -> str:
    return f"{group.lower().replace('_', '-')}@localhost"
