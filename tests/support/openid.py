"""A real OpenID provider (`oidc-provider` on Node.js), and a person's browser before it."""

import asyncio
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import platformdirs
import pytest

HOME = Path(__file__).with_name("oidc_provider")
FILES = ("package.json", "package-lock.json", "provider.js")
STARTS_SECONDS, INSTALLS_SECONDS = 60.0, 240.0
ADDRESS = "https://console.test"
BACK = f"{ADDRESS}/login/provider/back"
CLIENT_ID, CLIENT_SECRET = "reenvio console", "a secret: with/odd+signs %"
STEPS = 12
_ACTION = re.compile(r'action="([^"]+)"')


@asynccontextmanager
async def real_provider(people: Mapping[str, Mapping[str, object]], **client: object) -> AsyncIterator[str]:
    """The provider with these people by their subjects; yields its address, which is its name."""
    folder = await asyncio.to_thread(_installed)
    registered = {
        "client_id": CLIENT_ID,
        "client_secret": CLIENT_SECRET,
        "redirect_uris": [BACK],
        "post_logout_redirect_uris": [f"{ADDRESS}/login"],
        **client,
    }
    given = os.environ | {"OIDC_TEST": json.dumps({"people": people, "client": registered})}
    process = await asyncio.create_subprocess_exec(
        "node",
        "provider.js",
        cwd=folder,
        env=given,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert process.stdout
        line = await asyncio.wait_for(process.stdout.readline(), STARTS_SECONDS)
        assert line.startswith(b"http://127.0.0.1:"), line
        yield line.decode().strip()
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def _installed() -> Path:
    """Where it is installed, once for all runs: by its lock, and whole or not at all."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("no Node.js here: apt-get install nodejs npm")
    mark = hashlib.sha256(b"".join((HOME / name).read_bytes() for name in FILES)).hexdigest()[:16]
    cache = platformdirs.user_cache_path("reenvio", ensure_exists=True)
    place = cache / f"oidc-provider-{mark}"
    if not place.is_dir():
        _install(cache, place)
    return place


def _install(cache: Path, place: Path) -> None:
    with tempfile.TemporaryDirectory(dir=cache) as made:
        fresh = Path(made) / "provider"
        fresh.mkdir()
        for name in FILES:
            shutil.copy(HOME / name, fresh)
        _npm_ci(fresh)
        try:
            fresh.rename(place)
        except OSError:
            if not place.is_dir():  # another run was first
                raise


def _npm_ci(folder: Path) -> None:
    command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--silent"]
    subprocess.run(command, cwd=folder, check=True, timeout=INSTALLS_SECONDS, stdin=subprocess.DEVNULL)


class Person:
    """Somebody's browser at the provider, with cookies of its own."""

    def __init__(self, issuer: str, http: httpx.AsyncClient) -> None:
        self._issuer = issuer
        self._http = http

    async def says_who(self, address: str, subject: str) -> str:
        """Go where the console sends them, log in, consent; where the provider sends them back to."""
        answer = await self._http.get(address)
        for _ in range(STEPS):
            if answer.is_redirect:
                onward = str(answer.next_request.url) if answer.next_request else ""
                if _origin(onward) != self._issuer:
                    return onward
                answer = await self._http.get(onward)
            else:
                answer = await self._answers(answer, subject)
        raise AssertionError(f"the provider leads nowhere: {answer.url}")

    async def _answers(self, page: httpx.Response, subject: str) -> httpx.Response:
        form = _ACTION.search(page.text)
        assert form, page.text
        prompt = "consent" if 'value="consent"' in page.text else "login"
        return await self._http.post(form[1], data={"prompt": prompt, "login": subject, "password": "any"})

    async def logs_out(self, address: str) -> str:
        """Go where the console sends them to log out, and say yes."""
        page = await self._http.get(address)
        form = _ACTION.search(page.text)
        secret = re.search(r'name="xsrf" value="([^"]+)"', page.text)
        assert form, page.text
        assert secret
        out = await self._http.post(form[1], data={"xsrf": secret[1], "logout": "yes"})
        return out.headers["location"]


@asynccontextmanager
async def person_at(issuer: str) -> AsyncIterator[Person]:
    """A browser of its own for one person."""
    async with httpx.AsyncClient(trust_env=False, timeout=STARTS_SECONDS) as http:
        yield Person(issuer, http)


def _origin(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"
