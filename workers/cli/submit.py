"""`reenvio claim submit`: hands in files, one or a folder full, and says what became of each."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.console import Console
from rich.progress import Progress

from domain.errors import Trouble
from domain.refusals import Refusal
from gateways.clock import WallClock
from workers.app.ciphers import keys_as_given
from workers.app.composition import App, claims_flowing, intake_terms
from workers.app.logs import configure_logs
from workers.claims.examination import ClaimFile, Reader
from workers.claims.intake import Intake, KnownClaim
from workers.cli.application import with_app
from workers.cli.output import say
from workers.config.settings import Settings, read_settings
from workers.payers.channels import open_channels
from workers.policy import PolicySource

AT_ONCE, REFUSED = 16, "refused"
Given = TypeVar("Given")
Made = TypeVar("Made")
HandIn = Callable[[ClaimFile], Awaitable[tuple[str, str]]]
"""Does something with a file; in one word and in one sentence what."""


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
    outcome: Counter[str] = Counter()

    async def go(app: App) -> None:
        limit = app.intake.reader.terms.max_bytes
        outcome.update(await _each(files, wish, limit, lambda file: _hand_in(app.intake, file)))

    with_app(go, opened=claims_flowing)
    return outcome[REFUSED]


def _check(files: Sequence[Path], wish: Wish) -> int:
    settings = read_settings()
    configure_logs("error", settings.logs.format)
    return asyncio.run(_check_each(files, wish, settings))[REFUSED]


async def _check_each(files: Sequence[Path], wish: Wish, settings: Settings) -> Counter[str]:
    terms = intake_terms(settings, PolicySource(settings.policy_file).current().zone)
    async with open_channels(settings.payers.file, environment=settings.environment) as channels:
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

    with Progress(console=err, transient=True, disable=quiet) as bar:
        line = bar.add_task("claims", total=len(files))
        async with aclosing(in_order(files, hand_in_one, at_once=AT_ONCE)) as handed_in:
            async for one in handed_in:
                say(err if one.word == REFUSED else out, one.sentence)
                counts[one.word] += 1
                bar.advance(line)
    if len(files) > 1:
        say(out, f"{len(files)} files: {', '.join(f'{n} {word}' for word, n in sorted(counts.items()))}.")
    return counts


@dataclass(frozen=True, slots=True)
class _HandedIn:
    """What became of a file, in one word and in one sentence."""

    word: str
    sentence: str


async def _handed_in(file: Path, wish: Wish, limit: int, hand_in: HandIn) -> _HandedIn:
    try:
        word, sentence = await hand_in(wish.claim_file(read_file(file, limit)))
    except FileTrouble as trouble:
        return _HandedIn(REFUSED, str(trouble))
    except Refusal as refused:
        return _HandedIn(REFUSED, f"{file}: {refused}")
    return _HandedIn(word, f"{file} {sentence}.")


async def in_order(
    given: Iterable[Given], work: Callable[[Given], Awaitable[Made]], *, at_once: int
) -> AsyncGenerator[Made, None]:
    """What comes of each, in their order, with several under way; the first error ends them all."""
    under_way: deque[asyncio.Task[Made]] = deque()
    try:
        for one in given:
            if len(under_way) == at_once:
                yield await under_way.popleft()
            under_way.append(asyncio.ensure_future(work(one)))
        while under_way:
            yield await under_way.popleft()
    finally:
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


def read_file(file: Path, limit: int) -> bytes:
    """The file, or so much of it that it is seen to be too large."""
    try:
        with file.open("rb") as opened:
            return opened.read(limit + 1)
    except OSError as error:
        raise FileTrouble(f"{file} cannot be opened ({error.strerror}).") from error
