"""A login under way at a provider: what the browser keeps of it until it comes back, and nobody else does."""

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from gateways.oidc.provider import Secrets
from workers.console.access.forms import own_path

LASTS = timedelta(minutes=10)
_KEPT = re.compile(r"([\w-]{43})\.(\d{1,12})\.([\w-]{1,2700})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Handshake:
    """One secret of a browser's cookie, from which all others are made: they hold for this login alone.

    When it began and where it leads on to are in them too: changed, the login comes to nothing.
    """

    secret: str = field(repr=False)
    began: int
    onward: str

    @property
    def secrets(self) -> Secrets:
        """What the provider is told, each for its own purpose."""
        return Secrets(self._made("state"), self._made("nonce"), self._made("verifier"))

    @property
    def kept(self) -> str:
        """As the cookie keeps it."""
        onward = base64.urlsafe_b64encode(self.onward.encode()).rstrip(b"=").decode()
        return f"{self.secret}.{self.began}.{onward}"

    def _made(self, purpose: str) -> str:
        text = f"{purpose} {self.began} {self.onward}".encode()
        made = hmac.new(self.secret.encode(), text, hashlib.sha256).digest()
        return base64.urlsafe_b64encode(made).rstrip(b"=").decode()


def read_handshake(kept: str, now: datetime) -> Handshake | None:
    """What a cookie keeps, unless it is none of ours, or too old."""
    found = _KEPT.fullmatch(kept)
    if found is None:
        return None
    began, onward = int(found[2]), _text(found[3])
    is_under_way = 0 <= now.timestamp() - began <= LASTS.total_seconds()
    return Handshake(found[1], began, own_path(onward)) if is_under_way else None


def _text(encoded: str) -> str:
    try:
        return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode("ascii")
    except ValueError:
        return ""
