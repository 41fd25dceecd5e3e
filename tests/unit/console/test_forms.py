"""What a browser may send, and where it may be sent on to."""

import asyncio

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message

from workers.console.access.forms import OversizeForm, own_path, read_form
from workers.console.access.tokens import new_token, same


@pytest.mark.parametrize("path", ["/", "/claims", "/claims?state=review&payer=norte", "/claims/CLM-1-1#x"])
def test_a_path_of_ours_is_gone_on_to(path: str) -> None:
    assert own_path(path) == path


@pytest.mark.parametrize(
    "path",
    [
        *("//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example"),
        *("evil.example", "javascript:alert(1)", "/a\r\nSet-Cookie: x=1", "/a\tb", " /a", "/ä", ""),
        *("/\t/evil.example", "/%0d%0a x", "http:/evil.example", "/" + "a" * 2_000, "/x\\..\\y"),
    ],
)
def test_no_other_site_is_gone_on_to(path: str) -> None:
    assert own_path(path) == "/"


def test_an_empty_token_is_nobodys() -> None:
    assert not same("", "")
    assert not same("", new_token())


def test_tokens_are_compared_whole_whatever_they_hold() -> None:
    token = new_token()
    assert same(token, token)
    assert not same(token, token[:-1])
    assert not same("\udc80ä", token)


def form_of(body: list[bytes], **headers: str) -> Request:
    """A form whose body comes in these pieces, and then no more."""
    given = {"content-type": "application/x-www-form-urlencoded"} | headers
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in given.items()]
    pieces = iter(body)

    async def receive() -> Message:
        if (piece := next(pieces, None)) is None:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": piece, "more_body": True}

    return Request({"type": "http", "method": "POST", "path": "/login", "headers": raw}, receive)


async def test_a_length_that_the_body_need_not_keep_is_none() -> None:
    with pytest.raises(OversizeForm):
        await read_form(form_of([], content_length="10", transfer_encoding="chunked"))


async def test_a_form_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.console.access.forms.FORM_SECONDS", 0.01)
    with pytest.raises(HTTPException) as late:
        await read_form(form_of([b"login="], content_length="10"))
    assert late.value.status_code == 408
