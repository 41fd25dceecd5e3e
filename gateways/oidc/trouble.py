"""Why a provider's word is not believed, and that it does not answer."""

from enum import StrEnum

from domain.errors import Trouble


class Doubt(StrEnum):
    """What was wrong with it; for logs and the trail, since it holds no word of others."""

    DISCOVERY = "discovery"
    STATE = "state"
    SENDER = "sender"
    REFUSED = "refused_by_provider"
    CODE = "code"
    MALFORMED = "malformed"
    ALGORITHM = "algorithm"
    KEY = "key"
    SIGNATURE = "signature"
    ISSUER = "issuer"
    AUDIENCE = "audience"
    PARTY = "authorized_party"
    EXPIRED = "expired"
    TOO_EARLY = "too_early"
    STALE = "stale"
    NONCE = "nonce"
    ACCESS_TOKEN = "access_token"  # noqa: S105 - a name, no secret
    SUBJECT = "subject"


class ProviderDoubt(Trouble):
    """Nobody comes in by this."""

    def __init__(self, doubt: Doubt) -> None:
        self.doubt = doubt
        super().__init__(f"What the login provider sent is not believed: {doubt}.")


class ProviderAway(Trouble):
    """The provider does not answer, or not with what it should."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"The login provider does not answer as it should: {why}. See CONSOLE_OIDC_ISSUER.")
