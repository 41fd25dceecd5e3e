"""What a browser sends us: forms within bounds, from our own pages, and addresses of our own."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from workers.console.access.tokens import same

FORM_BYTES, FORM_SECONDS = 64_000, 10.0
FIELDS = 50
UPLOAD_SECONDS, UPLOAD_SLACK = 60.0, 16_000
MULTIPART = "multipart/form-data"
FILE_FIELD, FILES_FIELD = "file", "files"
UPLOADS_ROOM = 4
"""Together, files of one form are no larger than so many of the largest."""
CSRF_FIELD, CSRF_HEADER = "csrf", "x-csrf-token"
_TOO_MANY = "Too many files."
"""As Starlette says it."""
URLENCODED = "application/x-www-form-urlencoded"
_OWN_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]*", re.ASCII)


class ForgedForm(Exception):  # noqa: N818 - nobody failed, it is refused
    """A form that no page of ours has made, or not for this person."""


class OversizeForm(Exception):  # noqa: N818 - nobody failed, it is refused
    """A form that is larger than any of ours, or does not say how large it is."""


class TooManyFiles(Exception):  # noqa: N818 - nobody failed, it is refused
    """A form with more files than it may have."""


async def read_form(request: Request) -> Mapping[str, str]:
    """The fields of a form; files are read elsewhere."""
    _require_size(request, FORM_BYTES, URLENCODED)
    try:
        async with asyncio.timeout(FORM_SECONDS):
            return _texts(await request.form(max_fields=FIELDS))
    except TimeoutError as slow:
        raise HTTPException(408) from slow


@dataclass(frozen=True, slots=True)
class Upload:
    """A form with one file, which is nobody else's to see."""

    fields: Mapping[str, str]
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class NamedUpload:
    """One of several files, by the name it was handed in under."""

    name: str
    data: bytes = field(repr=False)


async def read_upload(request: Request, most: int) -> Upload:
    """The fields of a form and its one file, which is kept in memory alone, and no larger than `most`."""
    _require_size(request, most + UPLOAD_SLACK, MULTIPART)
    parser = MultiPartParser(
        request.headers, request.stream(), max_files=1, max_fields=FIELDS, max_part_size=FORM_BYTES
    )
    parser.spool_max_size = most + UPLOAD_SLACK
    form = await _parsed(parser)
    given = form.get(FILE_FIELD)
    data = await given.read() if isinstance(given, UploadFile) else b""
    await form.close()
    if len(data) > most:
        raise OversizeForm
    return Upload(_texts(form), data)


async def read_uploads(
    request: Request, most: int, files: int
) -> tuple[Mapping[str, str], list[NamedUpload]]:
    """The fields of a form and its files: all together no larger than a few of the largest.

    One that is larger than `most` is for who reads it to refuse: the others are not its fault.
    """
    room = UPLOADS_ROOM * most + UPLOAD_SLACK
    _require_size(request, room, MULTIPART)
    parser = MultiPartParser(
        request.headers, request.stream(), max_files=files, max_fields=FIELDS, max_part_size=FORM_BYTES
    )
    parser.spool_max_size = room
    form = await _parsed(parser)
    given = [one for one in form.getlist(FILES_FIELD) if isinstance(one, UploadFile) and one.filename]
    found = [NamedUpload(one.filename or "", await one.read()) for one in given]
    await form.close()
    return _texts(form), found


async def _parsed(parser: MultiPartParser) -> FormData:
    try:
        async with asyncio.timeout(UPLOAD_SECONDS):
            return await parser.parse()
    except TimeoutError as slow:
        raise HTTPException(408) from slow
    except MultiPartException as broken:
        if broken.message.startswith(_TOO_MANY):
            raise TooManyFiles from broken
        raise HTTPException(400) from broken


def _require_size(request: Request, most: int, wanted: str) -> None:
    """A body says how large it is, and is no larger than any of ours."""
    length = "" if "transfer-encoding" in request.headers else request.headers.get("content-length", "")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not length.isdecimal() or len(length) > 9 or int(length) > most or kind != wanted:
        raise OversizeForm


def _texts(form: FormData) -> Mapping[str, str]:
    return {name: value for name, value in form.items() if isinstance(value, str)}


def require_own_form(request: Request, form: Mapping[str, str], expected: str, own: str | None) -> None:
    """Refuse a form from another site, or without the token of its session; `own` is our known address."""
    given = form.get(CSRF_FIELD) or request.headers.get(CSRF_HEADER, "")
    if not (_is_from_us(request, own) and same(given, expected)):
        raise ForgedForm


def _is_from_us(request: Request, own: str | None) -> bool:
    """By what browsers say of themselves; who says nothing is no browser, and needs the token alone."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = request.headers.get("origin")
    if origin is None:
        return True
    mine = own or f"{request.url.scheme}://{request.headers.get('host', '')}"
    return origin.lower() == mine.lower()


def own_path(text: str | None, otherwise: str = "/") -> str:
    """Where to go on to: a path of ours, never another site."""
    return text if text and len(text) < 2_000 and _OWN_PATH.fullmatch(text) else otherwise
