"""`reenvio claim submit`: hands in files, one or a folder full, and says what became of each."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.progress import Progress

from domain.errors import Trouble
from domain.refusals import Refusal
from gateways.clock import WallClock
from gateways.zeebe.refusals import CommandRefusedError
from workers.app.ciphers import keys_as_given
from workers.app.cluster import find_cluster
from workers.app.intake import configured_terms, opened_intake
from workers.app.logs import configure_logs
from workers.claims.examination import ClaimFile, Reader
from workers.claims.intake import Intake, KnownClaim
from workers.cli.output import say
from workers.config.settings import Settings, read_settings
from workers.payers.channels import checking_channels

REFUSED, LATE = "refused", "late"
LATE_IN_A_ROW = 16
"""So many whose process the engine did not start show that it is away."""
ROOM, SMALLEST = 50_000_000, 400_000
"""Bytes of files that may be under way, and for how many a small one counts: so there are 125 of them."""
Given = TypeVar("Given")
Made = TypeVar("Made")
UnderWay = deque[tuple[asyncio.Task[Made], int]]
"""Works and their sizes, in the order in which they began."""
HandIn = Callable[[ClaimFile], Awaitable[tuple[str, str]]]
"""Does something with a file; in one word and in one sentence what."""


class SubmittingEnded(Trouble):
    """The engine starts no process any more; what is told is taken in all the same."""


class FileTrouble(Trouble):
    """A file that cannot be opened."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for, the same for every file."""

    payer: str | None
    deadline: str | None
    claim_id: str | None

    def claim_file(self, data: bytes) -> ClaimFile:
        """A file with what was asked for."""
        return ClaimFile(data, payer=self.payer, deadline=self.deadline, claim_id=self.claim_id)


def submit(
    files: Annotated[list[Path], typer.Argument(help="TISS batch files, or folders of *.xml.")],
    payer: Annotated[str | None, typer.Option(help="The payer's id; default: as the file says.")] = None,
    deadline: Annotated[
        str | None, typer.Option(help="ISO 8601 or a duration such as 48h; default: CLAIM_DEADLINE_HOURS.")
    ] = None,
    claim_id: Annotated[str | None, typer.Option(help="An id of your own, for a single file.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only check; needs no engine.")] = False,
) -> None:
    """Hand in claims as TISS files; the same file again changes nothing."""
    found = list(_files(files))
    if claim_id and len(found) > 1:
        raise typer.BadParameter("an id is for one file", param_hint="--claim-id")
    wish = Wish(payer, deadline, claim_id)
    refused = _check(found, wish) if dry_run else _submit(found, wish)
    raise typer.Exit(1 if refused else 0)


def _files(given: Sequence[Path]) -> Iterator[Path]:
    for path in given:
        yield from _inside(path) if path.is_dir() else (path,)


def _inside(folder: Path) -> list[Path]:
    found = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".xml")
    if not found:
        raise FileTrouble(f"{folder}: there is no .xml file in it.")
    return found


def _submit(files: Sequence[Path], wish: Wish) -> int:
    settings = _quiet_settings()

    async def go() -> Counter[str]:
        async with opened_intake(settings, find_cluster(settings)) as intake:
            limit = intake.reader.terms.max_bytes
            return await _each(files, wish, limit, lambda file: _hand_in(intake, file))

    return asyncio.run(go())[REFUSED]


def _check(files: Sequence[Path], wish: Wish) -> int:
    return asyncio.run(_check_each(files, wish, _quiet_settings()))[REFUSED]


def _quiet_settings() -> Settings:
    settings = read_settings()
    configure_logs("error", settings.logs.format)
    return settings


async def _check_each(files: Sequence[Path], wish: Wish, settings: Settings) -> Counter[str]:
    terms = configured_terms(settings)
    channels = checking_channels(settings.payers.file, settings.environment)
    reader = Reader(channels, terms, keys_as_given(settings))

    async def check(file: ClaimFile) -> tuple[str, str]:
        arrival = (await reader.look_over(file, await WallClock().now())).arrival
        return "good", f"is good, and would be {arrival.claim_id} for payer {arrival.payer_id}"

    return await _each(files, wish, terms.max_bytes, check)


async def _hand_in(intake: Intake, file: ClaimFile) -> tuple[str, str]:
    result = await intake.submit(file)
    if isinstance(result, KnownClaim):
        return "known", f"is known as {result.claim_id} ({result.state}); {_done(result)}"
    return "new", f"is on its way as {result.claim_id}, due {result.deadline.isoformat(timespec='seconds')}"


def _done(known: KnownClaim) -> str:
    if not known.sealed_anew:
        return "nothing to do"
    resolve = f"`reenvio claim resolve {known.claim_id}`"
    return f"its file was sealed anew, for its key was not here; if it stands on an incident, {resolve}"


async def _each(files: Sequence[Path], wish: Wish, limit: int, hand_in: HandIn) -> Counter[str]:
    """Refusals are told and counted; any other trouble would be every file's, and ends the run."""
    out, err = Console(), Console(stderr=True)
    counts: Counter[str] = Counter()
    quiet = len(files) == 1 or not err.is_terminal

    async def hand_in_one(file: Path) -> _HandedIn:
        return await _handed_in(file, wish, limit, hand_in)

    last: deque[_HandedIn] = deque(maxlen=LATE_IN_A_ROW)
    with Progress(console=err, transient=True, disable=quiet) as bar:
        line = bar.add_task("claims", total=len(files))
        async with aclosing(in_order(files, hand_in_one, size=_size, room=ROOM)) as handed_in:
            async for some in handed_in:
                for refused, told in groupby(some, key=lambda one: one.word == REFUSED):
                    say(err if refused else out, "\n".join(one.sentence for one in told))
                counts.update(one.word for one in some)
                bar.advance(line, len(some))
                last.extend(some)
                if _engine_is_away(last):
                    break
    if len(files) > 1:
        say(out, f"{len(files)} files: {', '.join(f'{n} {word}' for word, n in sorted(counts.items()))}.")
    if counts.total() < len(files):
        left = f"{len(files) - counts.total()} of {len(files)} files are left"
        raise SubmittingEnded(f"{last[-1].late} {left}: hand the same in again, and nothing is taken twice.")
    return counts


def _engine_is_away(last: Sequence["_HandedIn"]) -> bool:
    return len(last) == LATE_IN_A_ROW and all(one.late for one in last)


@dataclass(frozen=True, slots=True)
class _HandedIn:
    """What became of a file, in one word and in one sentence."""

    word: str
    sentence: str
    late: Trouble | None = None
    """Why its process did not start at once."""


async def _handed_in(file: Path, wish: Wish, limit: int, hand_in: HandIn) -> _HandedIn:
    try:
        word, sentence = await hand_in(wish.claim_file(read_file(file, limit)))
    except FileTrouble as trouble:
        return _HandedIn(REFUSED, str(trouble))
    except Refusal as refused:
        return _HandedIn(REFUSED, f"{file}: {refused}")
    except CommandRefusedError as late:
        return _HandedIn(
            LATE, f"{file} is taken in; it starts within minutes, when the engine takes it.", late
        )
    return _HandedIn(word, f"{file} {sentence}.")


def _size(file: Path) -> int:
    try:
        return max(file.stat().st_size, SMALLEST)
    except OSError:
        return SMALLEST  # opening it tells what is wrong


async def in_order(
    given: Iterable[Given],
    work: Callable[[Given], Awaitable[Made]],
    *,
    size: Callable[[Given], int],
    room: int,
) -> AsyncGenerator[Sequence[Made], None]:
    """What comes of each, in their order, some at a time; the first error ends them all.

    As many are under way as there is room for, by their size.
    """
    under_way: UnderWay[Made] = deque()
    try:
        for one, needed in ((one, size(one)) for one in given):
            while under_way and needed + sum([taken for _, taken in under_way]) > room:
                yield await _ended(under_way)
            under_way.append((asyncio.ensure_future(work(one)), needed))
        while under_way:
            yield await _ended(under_way)
    finally:
        for task, _ in under_way:
            task.cancel()
        await asyncio.gather(*(task for task, _ in under_way), return_exceptions=True)


async def _ended(under_way: UnderWay[Made]) -> Sequence[Made]:
    """What came of the first, and of those after it that have ended well by then."""
    made = [await under_way[0][0]]
    under_way.popleft()
    while under_way and _is_good(under_way[0][0]):
        made.append(under_way.popleft()[0].result())
    return made


def _is_good(task: asyncio.Task[Any]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


def read_file(file: Path, limit: int) -> bytes:
    """The file, or so much of it that it is seen to be too large."""
    try:
        with file.open("rb") as opened:
            return opened.read(limit + 1)
    except OSError as error:
        raise FileTrouble(f"{file} cannot be opened ({error.strerror}).") from error
