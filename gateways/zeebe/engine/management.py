"""The broker's management port: plain HTTP on this machine, without proxies and certificates."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPMethod
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit


class ManagementError(Exception):
    """Nobody answers, or not as was hoped for."""


@dataclass(frozen=True, slots=True)
class ManagementAnswer:
    """What was answered; `is_good` says whether the request was taken."""

    status: int
    body: bytes

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300

    def number(self, name: str) -> int:
        """One number of a good answer; a KeyError or ValueError where it names none."""
        if not self.is_good:
            raise ManagementError(f"HTTP {self.status}")
        return int(json.loads(self.body)[name])


def ask(url: str, *, seconds: float, given: Mapping[str, object] | None = None) -> ManagementAnswer:
    """One request: GET, or POST of what is given."""
    where = urlsplit(url)
    connection = HTTPConnection(where.hostname or "", where.port, timeout=seconds)
    method = HTTPMethod.GET if given is None else HTTPMethod.POST
    target = where._replace(scheme="", netloc="").geturl()
    body = None if given is None else json.dumps(given)
    try:
        connection.request(method, target, body, {"Content-Type": "application/json"} if body else {})
        answer = connection.getresponse()
        return ManagementAnswer(answer.status, answer.read())
    except (OSError, HTTPException) as error:
        raise ManagementError(str(error)) from error
    finally:
        connection.close()
