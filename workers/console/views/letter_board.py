"""Mail that did not arrive: which, why in plain words, what helps, and how sending it again goes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from urllib.parse import quote, urlencode

from domain.legible import printable_line
from domain.mail.codes import ALSO_PERMANENT, OURS, OwnCode
from domain.mail.dead_letters import AT_MOST, DeadLetter
from domain.mail.mail import MailState
from domain.mail.redrive import FailsAgain, NothingHappens, RedriveDone
from domain.mail.success import MailTally
from persistence.repositories.dead_letters import LetterPlace, WantedLetters
from persistence.repositories.mails import PendingMails
from workers.console.views.shapes import StateShape, StateView, Tone
from workers.console.views.times import Said, Times, read_moment
from workers.console.words import Words
from workers.mail.redrive_runs import RedriveRun

TEXT_MOST = 64
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
AGES: Mapping[str, tuple[timedelta | None, timedelta | None]] = {
    "": (None, None),
    "last-hour": (None, HOUR),
    "last-day": (None, DAY),
    "over-day": (DAY, None),
    "over-3-days": (3 * DAY, None),
}
"""Ages that can be asked for: older than, newer than."""
_SERVER, _WAY, _PACE, _LOGIN, _ADDRESS, _TALK = "server", "way", "pace", "login", "address", "talk"
_KINDS: Mapping[str, str] = {
    **dict.fromkeys(("421", "450", "451", "452", OwnCode.CONNECTION_LOST, OwnCode.ANSWER_LOST), _SERVER),
    **dict.fromkeys(("ServiceUnavailable", "InternalFailure", "InternalServiceError"), _SERVER),
    **dict.fromkeys((OwnCode.CONNECTION_FAILED, OwnCode.TIMEOUT, "RequestTimeout"), _WAY),
    **dict.fromkeys(("Throttling", "TooManyRequests", "RequestThrottled", "LimitExceeded"), _PACE),
    **dict.fromkeys(OURS, _LOGIN),
    **dict.fromkeys(ALSO_PERMANENT, _TALK),
    **dict.fromkeys(("550", "551", "552", "553"), _ADDRESS),
    **dict.fromkeys(("500", "501", "502", "503", "554", "MessageRejected", OwnCode.ODD_ANSWER), _TALK),
    "MailFromDomainNotVerified": "domain",
    OwnCode.TLS_FAILED: "tls",
    **dict.fromkeys((OwnCode.WORKER_LOST, OwnCode.STOOD_STILL, OwnCode.OWN_FAULT), "worker"),
    OwnCode.EXPIRED: "expired",
    OwnCode.NO_RECIPIENT: "no_recipient",
    OwnCode.NO_TEMPLATE: "no_text",
    OwnCode.NOT_WRITTEN: "not_written",
    OwnCode.PROCESS_ENDED: "ended",
}


@dataclass(frozen=True, slots=True)
class AskedLetters:
    """What the address asks for; what it does not understand does not narrow."""

    code: str = ""
    company: str = ""
    age: str = ""

    @property
    def is_narrowed(self) -> bool:
        """Whether anything is asked for."""
        return self != AskedLetters()

    def address(self, path: str = "/letters", **more: str) -> str:
        """Where the same is found again."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        kept = {name: value for name, value in given.items() if value} | more
        return f"{path}?{urlencode(kept)}" if kept else path

    def wanted(self, now: datetime) -> WantedLetters:
        """The same for the database, as seen from a moment; nothing that came after it."""
        older, newer = AGES[self.age]
        before = now - older if older else None
        since = now - newer if newer else None
        return WantedLetters(self.code or None, self.company or None, before, since)


def read_letters(query: Mapping[str, str]) -> AskedLetters:
    """What an address, or a form, asks for."""
    given = {
        one.name: printable_line(query.get(one.name, ""))[:TEXT_MOST].strip() for one in fields(AskedLetters)
    }
    return AskedLetters(**(given | {"age": given["age"] if given["age"] in AGES else ""}))


def read_letter_place(query: Mapping[str, str]) -> LetterPlace | None:
    """Where the page before ended."""
    moment = read_moment(query.get("after", ""))
    return LetterPlace(moment, printable_line(query.get("id", ""))[:TEXT_MOST]) if moment else None


def pinned(asked: AskedLetters, moment: datetime) -> WantedLetters:
    """What a preview was made of: letters that came after it are not meant."""
    wanted = asked.wanted(moment)
    return wanted if wanted.moved_before else replace(wanted, moved_before=moment)


@dataclass(frozen=True, slots=True)
class LetterLine:
    """One letter in the list."""

    page: str
    moved: Said
    company: str
    why: str
    attempts: int
    ends: Said
    state: StateView


@dataclass(frozen=True, slots=True)
class LetterShare:
    """How many letters of a code or a company, and where they are listed."""

    key: str
    name: str
    number: int
    link: str


@dataclass(frozen=True, slots=True)
class LetterStats:
    """How many there are, how fast they come, and whose they are."""

    number: int
    most: int
    on_its_way: int
    last_hour: int
    an_hour: str
    oldest: Said | None
    without_room: int
    codes: Sequence[LetterShare]
    companies: Sequence[LetterShare]


@dataclass(frozen=True, slots=True)
class CountedLetters:
    """What was counted, of one moment."""

    number: int
    on_its_way: int
    last_hour: int
    last_day: int
    oldest: datetime | None
    without_room: int
    codes: Sequence[tuple[str | None, int]]
    companies: Sequence[tuple[str | None, int]]


def kind_of(code: str | None) -> str:
    """The kind of trouble that a code stands for."""
    return _KINDS.get(code or "", "other" if code else "worker")


def why(code: str | None, words: Words) -> str:
    """Why a letter died, in a sentence, with the server's code at its end."""
    said = words(f"letter_why.{kind_of(code)}")
    return f"{said} ({code})" if code and code not in set(OwnCode) else said


def state_of(letter: DeadLetter, words: Words) -> StateView:
    """Whether it rests or is on its way again."""
    if letter.redriven_at:
        return StateView(Tone.MOVING, StateShape.ARROW, words("letters.on_its_way"))
    return StateView(Tone.STOPPED, StateShape.PAUSE, words("letters.at_rest"))


def letter_page(outbox_id: str) -> str:
    """Where a letter is looked at."""
    return f"/letters/{quote(outbox_id, safe='')}"


def letter_lines(page: Sequence[DeadLetter], times: Times) -> Sequence[LetterLine]:
    """The rows of a page."""
    return [
        LetterLine(
            page=letter_page(letter.outbox_id),
            moved=times.at(letter.moved_at),
            company=letter.company_id,
            why=why(letter.last_failure_code, times.words),
            attempts=letter.failed_attempts,
            ends=times.left(letter.expires_at),
            state=state_of(letter, times.words),
        )
        for letter in page
    ]


def stats(counted: CountedLetters, asked: AskedLetters, times: Times) -> LetterStats:
    """The numbers, each with its link."""
    words = times.words
    rate = f"{counted.last_day / 24:.1f}".replace(".", words.point)
    return LetterStats(
        number=counted.number,
        most=AT_MOST,
        on_its_way=counted.on_its_way,
        last_hour=counted.last_hour,
        an_hour=rate,
        oldest=times.at(counted.oldest) if counted.oldest else None,
        without_room=counted.without_room,
        codes=[
            LetterShare(code or "", why(code, words), n, replace(asked, code=code or "").address())
            for code, n in counted.codes
        ],
        companies=[
            LetterShare(company or "", company or "", n, replace(asked, company=company or "").address())
            for company, n in counted.companies
        ],
    )


@dataclass(frozen=True, slots=True)
class MailDay:
    """The mail of the last day, and what is still to be sent."""

    sent: int
    failed: int
    waiting: int
    oldest: Said | None


def mail_day(tallies: Sequence[MailTally], pending: PendingMails, times: Times) -> MailDay:
    """How mail goes."""
    by_state = {
        state: sum(one.number for one in tallies if one.state is state)
        for state in (MailState.SENT, MailState.FAILED)
    }
    waiting = pending.wait + pending.active + pending.delayed
    oldest = times.ago(pending.oldest) if pending.oldest else None
    return MailDay(by_state[MailState.SENT], by_state[MailState.FAILED], waiting, oldest)


def run_state(run: RedriveRun, words: Words) -> StateView:
    """How sending letters again goes, or ended."""
    match run.end:
        case RedriveDone():
            return StateView(Tone.DONE, StateShape.CHECK, words("redrive.done"))
        case FailsAgain(wave):
            text = words("redrive.fails", failed=wave.failed, size=wave.size)
            return StateView(Tone.STOPPED, StateShape.WARNING, text)
        case NothingHappens():
            return StateView(Tone.STOPPED, StateShape.WARNING, words("redrive.nothing"))
        case None if run.is_broken:
            return StateView(Tone.STOPPED, StateShape.WARNING, words("redrive.broken"))
        case None:
            return StateView(Tone.MOVING, StateShape.ARROW, words("redrive.running"))
