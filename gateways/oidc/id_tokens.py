"""Whether an ID token is to be believed: signed by the provider's own key, for us, now, and for this login.

After OpenID Connect Core 1.0, 3.1.3.7 and 3.1.3.6.
"""

import base64
import hashlib
import hmac
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from joserfc import jwt
from joserfc.errors import BadSignatureError, InvalidKeyIdError, JoseError, UnsupportedAlgorithmError
from joserfc.jwk import ECKey, KeySet, RSAKey
from joserfc.jws import JWSRegistry

from gateways.oidc.trouble import Doubt, ProviderDoubt

KINDS: Mapping[str, type[RSAKey] | type[ECKey]] = {"RSA": RSAKey, "EC": ECKey}
ALGORITHMS = ("RS256", "PS256", "ES256")
"""Of key pairs alone: no secret that two know, and never `none`."""
TOLERANCE = 60
"""Seconds that its clock and ours may differ."""
FRESH = 600
"""Seconds since a token was made, at most: it was asked for a moment ago."""
KEYS_MOST = 50
TEXT_MOST = 255
_HEADERS = JWSRegistry(algorithms=list(ALGORITHMS), strict_check_header=False)
Claims = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Expected:
    """What a token must say to be for this login."""

    issuer: str
    client_id: str
    nonce: str
    now: datetime
    access_token: str | None = field(default=None, repr=False)


def read_keys(document: Mapping[str, object]) -> KeySet:
    """The keys that it signs with; those that we cannot use are left out."""
    given = document.get("keys")
    found = [_key(one) for one in given[:KEYS_MOST]] if isinstance(given, list) else []
    return KeySet([key for key in found if key is not None])


def _key(given: object) -> RSAKey | ECKey | None:
    if not isinstance(given, dict) or given.get("use", "sig") != "sig":
        return None
    kind = KINDS.get(str(given.get("kty")))
    public = {name: value for name, value in given.items() if name not in ("key_ops", "x5c", "x5u")}
    try:
        return None if kind is None else kind.import_key(public)
    except (JoseError, ValueError, TypeError, KeyError):
        return None


def believed(token: str, keys: KeySet, expected: Expected) -> Claims:
    """What it says, when all of it fits."""
    claims = _signed(token, keys)
    _require_for_us(claims, expected)
    _require_now(claims, int(expected.now.timestamp()))
    if not _same(claims.get("nonce"), expected.nonce):
        raise ProviderDoubt(Doubt.NONCE)
    _require_access_token(claims, expected.access_token)
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= TEXT_MOST or not _is_plain(subject):
        raise ProviderDoubt(Doubt.SUBJECT)
    return claims


def _signed(token: str, keys: KeySet) -> Claims:
    try:
        claims = jwt.decode(token, keys, algorithms=list(ALGORITHMS), registry=_HEADERS).claims
    except UnsupportedAlgorithmError:
        raise ProviderDoubt(Doubt.ALGORITHM) from None
    except InvalidKeyIdError:
        raise ProviderDoubt(Doubt.KEY) from None
    except BadSignatureError:
        raise ProviderDoubt(Doubt.SIGNATURE) from None
    except (JoseError, ValueError, TypeError, KeyError, RecursionError):
        raise ProviderDoubt(Doubt.MALFORMED) from None
    if not isinstance(claims, dict):
        raise ProviderDoubt(Doubt.MALFORMED)
    return claims


def _require_for_us(claims: Claims, expected: Expected) -> None:
    if claims.get("iss") != expected.issuer:
        raise ProviderDoubt(Doubt.ISSUER)
    given = claims.get("aud")
    audience = [given] if isinstance(given, str) else given
    if not isinstance(audience, list) or expected.client_id not in audience:
        raise ProviderDoubt(Doubt.AUDIENCE)
    party = claims.get("azp")
    if (len(audience) > 1 or party is not None) and party != expected.client_id:
        raise ProviderDoubt(Doubt.PARTY)


def _require_now(claims: Claims, now: int) -> None:
    ends, made, begins = (_moment(claims.get(name)) for name in ("exp", "iat", "nbf"))
    if ends is None or ends <= now - TOLERANCE:
        raise ProviderDoubt(Doubt.EXPIRED)
    if made is None or made < now - FRESH - TOLERANCE:
        raise ProviderDoubt(Doubt.STALE)
    if max(made, made if begins is None else begins) > now + TOLERANCE:
        raise ProviderDoubt(Doubt.TOO_EARLY)


def _moment(given: object) -> float | None:
    """A number that is one: neither truth nor what is no number is before or after anything."""
    if isinstance(given, float):
        return given if math.isfinite(given) else None
    return given if isinstance(given, int) and not isinstance(given, bool) else None


def _require_access_token(claims: Claims, access_token: str | None) -> None:
    """Where the token names the access token beside it, it is that one."""
    if "at_hash" not in claims:
        return
    half = hashlib.sha256((access_token or "").encode("utf-8", "replace")).digest()[:16]
    if not _same(claims["at_hash"], base64.urlsafe_b64encode(half).rstrip(b"=").decode()):
        raise ProviderDoubt(Doubt.ACCESS_TOKEN)


def _same(given: object, wanted: str) -> bool:
    if not isinstance(given, str) or not wanted:
        return False
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode("utf-8", "replace"))


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()
