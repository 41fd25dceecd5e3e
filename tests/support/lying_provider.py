"""An OpenID provider that says what a test wants it to say: the truth first, then one lie at a time."""

import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.support.openid import CLIENT_ID
from workers.app.http_server import Place, serving

Key = RSAKey | ECKey
ACCESS_TOKEN = "an-access-token"


@cache
def own_key() -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": "own", "use": "sig"})


@cache
def strange_key() -> RSAKey:
    """Another's, under the same name."""
    return RSAKey.generate_key(2048, {"kid": "own", "use": "sig"})


def hash_of(access_token: str) -> str:
    return _encoded(hashlib.sha256(access_token.encode()).digest()[:16])


def unsigned(claims: Mapping[str, object]) -> str:
    """A token of the algorithm `none`."""
    return f"{_unsigned({'alg': 'none', 'typ': 'JWT'}, claims)}."


def public_key_as_secret(claims: Mapping[str, object]) -> str:
    """Signed by HS256 with what everybody knows of the provider's key."""
    text = _unsigned({"alg": "HS256", "kid": "own"}, claims)
    return f"{text}.{_encoded(hmac.digest(own_key().as_pem(private=False), text.encode(), 'sha256'))}"


def with_foreign_rule(claims: Mapping[str, object]) -> str:
    """Signed well, and to be refused by who does not know the rule that it names."""
    text = _unsigned({"alg": "RS256", "kid": "own", "crit": ["urn:rule"], "urn:rule": True}, claims)
    private = serialization.load_pem_private_key(own_key().as_pem(private=True), None)
    assert isinstance(private, rsa.RSAPrivateKey)
    return f"{text}.{_encoded(private.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def _unsigned(header: Mapping[str, object], claims: Mapping[str, object]) -> str:
    return ".".join(_encoded(json.dumps(part).encode()) for part in (header, claims))


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@dataclass
class LyingProvider:
    """What it says to whom; a test changes one thing and looks what comes of it."""

    issuer: str = ""
    nonce: str = ""
    claims: dict[str, object] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    header: dict[str, object] = field(default_factory=lambda: {"alg": "RS256", "kid": "own"})
    key: Key = field(default_factory=own_key)
    keys: list[Key] = field(default_factory=lambda: [own_key()])
    discovery: dict[str, object] = field(default_factory=dict)
    token: str | None = None
    status: int = 200
    body: bytes | None = None
    asked: list[str] = field(default_factory=list)
    forms: list[dict[str, str]] = field(default_factory=list)
    authorization: str = ""

    def honest(self) -> dict[str, object]:
        """What is true, now."""
        now = int(datetime.now(UTC).timestamp())
        told = {"iss": self.issuer, "aud": CLIENT_ID, "sub": "u-1", "nonce": self.nonce, "iat": now}
        more = {"exp": now + 60, "name": "Bia", "preferred_username": "bia", "roles": ["fat"]}
        said = told | more | {"at_hash": hash_of(ACCESS_TOKEN)} | self.claims
        return {name: value for name, value in said.items() if name not in self.left_out}

    def minted(self) -> str:
        if self.token is not None:
            return self.token
        alg = str(self.header["alg"])
        return jwt.encode(self.header, self.honest(), self.key, algorithms=[alg])

    async def places(self, _: Request) -> Response:
        self.asked.append("places")
        at = self.issuer
        document: dict[str, object] = {
            "issuer": at,
            "authorization_endpoint": f"{at}/auth",
            "token_endpoint": f"{at}/token",
            "jwks_uri": f"{at}/jwks",
            "authorization_response_iss_parameter_supported": True,
            "code_challenge_methods_supported": ["S256"],
        }
        if self.body is not None:
            return Response(self.body, self.status)
        return JSONResponse(document | self.discovery, self.status)

    async def jwks(self, _: Request) -> Response:
        self.asked.append("keys")
        return JSONResponse(KeySet(list(self.keys)).as_dict(private=False))

    async def tokens(self, request: Request) -> Response:
        self.asked.append("token")
        self.forms.append({name: str(value) for name, value in (await request.form()).items()})
        self.authorization = request.headers.get("authorization", "")
        if self.status != 200:
            return JSONResponse({"error": "invalid_grant"}, self.status)
        answer = {"access_token": ACCESS_TOKEN, "token_type": "Bearer", "id_token": self.minted()}
        return JSONResponse(answer)


@asynccontextmanager
async def lying_provider() -> AsyncIterator[LyingProvider]:
    """It, served on this machine."""
    liar = LyingProvider()
    routes = [
        Route("/.well-known/openid-configuration", liar.places),
        Route("/jwks", liar.jwks),
        Route("/token", liar.tokens, methods=["POST"]),
    ]
    async with serving(Starlette(routes=routes), Place("127.0.0.1", 0, "a test")) as port:
        liar.issuer = f"http://127.0.0.1:{port}"
        yield liar
