"""What sending a claim can come to (`SendResult`), and what the claim makes of it (`Settled`)."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import ClassVar, Literal, Protocol

from domain.own_words import OwnWords, is_business_number

DUPLICATE_CLAIM = "DUPLICATE_CLAIM"
GlosaLevel = Literal["protocol", "guide", "procedure"]
GUIDES_NAMED = 5
DENIED_ALONE = (
    "FORBIDDEN - HTTP 403 again, and for this file alone: the payer takes others. A firewall before it "
    "refuses something in the file: compare it with files that pass, correct it, or ask the payer"
)


@dataclass(frozen=True, slots=True)
class Submission:
    """One send of one claim to one payer; `attempt` counts every send of the claim, from 1.

    `after_lost_answer` says that an earlier send may have arrived, `after_cancellation` that the payer
    undid one. `content` is the claim's file, read before anything is said to have left.
    """

    claim_id: str
    payer_id: str
    attempt: int
    after_lost_answer: bool = False
    after_cancellation: bool = False
    content: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Glosa:
    """A deduction the payer announces on what it accepted."""

    level: GlosaLevel
    code: str
    meaning: str
    guide: str | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """The payer took the claim and gave its protocol number; `total` is the amount it says it received.

    Glosas may come with it: the first of them, and how many more there are.
    """

    stored_as: ClassVar[str] = "ACCEPTED"
    protocol_number: str
    glosas: tuple[Glosa, ...] = ()
    total: str | None = None
    more_glosas: int = 0


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The payer says that it has the claim's batch number, or a guide of the batch, already.

    `guides` are those of the claim's own that it names.
    """

    code: str | None = None
    error: str = ""
    of: Literal["batch", "guide"] = "batch"
    guides: tuple[str, ...] = ()
    said: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Failed:
    """The claim certainly did not arrive, or was refused; the payer may have said when to come again.

    `refused` says that no resend can mend it, `payer_down` that nobody else's claim would arrive either.
    """

    stored_as: ClassVar[str] = "FAILED"
    error: str
    code: str | None = None
    retry_after: timedelta | None = None
    payer_down: bool = False
    refused: bool = False
    said: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class AnswerLost:
    """The request left and no answer to trust came: nobody here knows whether it arrived.

    `payer_down` says that what came speaks of an outage, `denial` how it denies us access, if it does.
    `claimed_protocol` is what a damaged answer claims: for a person, never for the machine.
    """

    stored_as: ClassVar[str] = "ANSWER_LOST"
    error: str
    code: str | None = None
    retry_after: timedelta | None = None
    payer_down: bool = False
    claimed_protocol: str | None = None
    denial: str = ""
    said: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class AccessDenied:
    """The payer refuses our login or certificate: sending on would lock the account."""

    stored_as: ClassVar[str] = "ACCESS_DENIED"
    error: str
    code: str | None = None
    said: str = field(default="", repr=False, compare=False)

    @property
    def may_mean_the_file(self) -> bool:
        """Whether a firewall may have said it, of this one file."""
        return self.code == "HTTP:403"


@dataclass(frozen=True, slots=True)
class OwnTrouble:
    """Nothing left, through trouble of our own machine: it says nothing about claim and payer."""

    error: str
    code: str | None = None


NotTaken = Duplicate | Failed | AnswerLost | AccessDenied
Answered = Accepted | NotTaken
Failure = NotTaken | OwnTrouble
SendResult = Accepted | Failure
"""What the gateway saw; `Answered` where the claim was really tried.

`error` is in `OwnWords`, and what the payer `said` in its own, for people alone.
"""


@dataclass(frozen=True, slots=True)
class ProtocolMissing:
    """The payer has the claim, but the answer with its protocol number was lost."""

    stored_as: ClassVar[str] = "PROTOCOL_MISSING"


@dataclass(frozen=True, slots=True)
class ArrivalUnknown:
    """The payer knows a guide of the claim, but perhaps from another claim: only a person can find out."""

    stored_as: ClassVar[str] = "ARRIVAL_UNKNOWN"
    error: str
    code: str | None = None


Settled = Accepted | ProtocolMissing | ArrivalUnknown | Failed | AnswerLost | AccessDenied
"""What the claim makes of it; each is kept under its `stored_as`, which old rows hold too."""


@dataclass(frozen=True, slots=True)
class OtherHolders:
    """Our other claims at a payer that hold a guide of a batch, each with its state.

    Unless `all_known`, claims whose guides are not on record may hold one too.
    """

    claims: tuple[str, ...] = ()
    all_known: bool = False


NOT_KNOWN = OtherHolders()


def settle(
    result: Answered,
    *,
    answer_was_lost_before: bool,
    others: OtherHolders = NOT_KNOWN,
    denied_alone: bool = False,
) -> Settled:
    """Read a refusal in the light of earlier sends, of this claim and of others.

    `denied_alone` is a claim that is denied again while the payer takes others: a firewall refuses its file.

    After a send whose answer was lost, a batch number that is known proves that it arrived: the claim
    must neither fail nor go out again. A guide that is known proves it only where no other claim of ours
    can have brought it. Without a lost answer it is what it says: a permanent refusal.
    """
    if isinstance(result, AccessDenied) and result.may_mean_the_file and denied_alone:
        return Failed(DENIED_ALONE, result.code, refused=True)
    if not isinstance(result, Duplicate):
        return result
    if not answer_was_lost_before:
        return Failed(OwnWords(f"{DUPLICATE_CLAIM} - {_known(result)}"), result.code, refused=True)
    if result.of == "batch" or (others.all_known and not others.claims):
        return ProtocolMissing()
    return ArrivalUnknown(OwnWords(f"{DUPLICATE_CLAIM} - {_known(result)}; {_doubt(others)}"), result.code)


def _known(duplicate: Duplicate) -> str:
    what = "this batch number" if duplicate.of == "batch" else "a guide of this batch"
    named = filter(is_business_number, duplicate.guides)
    guides = (f"guide {number}" for number in islice(named, GUIDES_NAMED))
    details = ", ".join((*filter(None, [duplicate.code]), *guides))
    return f"the payer has {what} already" + (f" ({details})" if details else "")


def _doubt(others: OtherHolders) -> str:
    if not others.claims:
        return "no proof that it arrived: the guides of earlier claims are not all on record"
    more = len(others.claims) - GUIDES_NAMED
    named = ", ".join(others.claims[:GUIDES_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"no proof that it arrived, for another claim holds one of its guides: {named}"


class PayerGateway(Protocol):
    """Sends a claim to its payer and says what came of it; never raises for what payers do."""

    async def send(self, submission: Submission, now: datetime, /) -> SendResult:
        """Send once."""
        ...
