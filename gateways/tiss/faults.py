"""The fault map: one table that says what each failure means for the batch.

Codes are the policy's (`SCHEME:CODE`); each error text begins with a word of the rules' lists, so that
a policy without the code still classifies it alike.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, auto

from gateways.tiss.glosas import glosa_meaning
from gateways.tiss.names import FaultWord
from gateways.tiss.outcomes import (
    AccessDenied,
    Ambiguous,
    Failure,
    KnownAlready,
    PayerDown,
    Refused,
    Transient,
)


class Kind(Enum):
    """What a failure means for the batch."""

    REFUSED = auto()
    DUPLICATE = auto()
    TRANSIENT = auto()
    DOWN = auto()
    AMBIGUOUS = auto()
    AMBIGUOUS_DOWN = auto()
    ACCESS = auto()


@dataclass(frozen=True, slots=True)
class Fault:
    """One line of the table."""

    kind: Kind
    word: str
    meaning: str


FAULTS: dict[str, Fault] = {
    # the network, before the last byte of the message had left: it cannot have arrived
    "NET:DNS": Fault(Kind.DOWN, "CONNECTION_ERROR", "the payer's host name is not known"),
    "NET:REFUSED": Fault(Kind.DOWN, "CONNECTION_REFUSED", "the payer refuses connections"),
    "NET:UNREACHABLE": Fault(Kind.DOWN, "CONNECTION_ERROR", "the payer cannot be reached"),
    "NET:CONNECT_TIMEOUT": Fault(Kind.DOWN, "TIMEOUT", "no connection to the payer in time"),
    "NET:TLS": Fault(Kind.DOWN, "CONNECTION_ERROR", "no secure connection could be agreed on"),
    "NET:WRITE_TIMEOUT": Fault(Kind.TRANSIENT, "TIMEOUT", "the message could not be sent whole in time"),
    "NET:BROKEN_SEND": Fault(
        Kind.TRANSIENT, "CONNECTION_ERROR", "the connection broke before the whole message had left"
    ),
    "NET:BUSY": Fault(Kind.TRANSIENT, "TEMPORARY_ERROR", "all our connections to the payer are in use"),
    "NET:CERTIFICATE": Fault(
        Kind.REFUSED, "CERTIFICATE", "the payer's certificate is not trusted: set ca_file, or ask the payer"
    ),
    "NET:CLIENT_CERTIFICATE": Fault(Kind.ACCESS, "UNAUTHORIZED", "the payer refuses our certificate"),
    # the network, after the last byte had left: it may have arrived
    "NET:READ_TIMEOUT": Fault(Kind.AMBIGUOUS_DOWN, "TIMEOUT", "no answer in time after the message had left"),
    "NET:RESET": Fault(
        Kind.AMBIGUOUS_DOWN, "CONNECTION_RESET", "the connection broke after the message had left"
    ),
    "NET:TRUNCATED": Fault(Kind.AMBIGUOUS, "SERVER_ERROR", "the answer breaks off"),
    "NET:EMPTY_BODY": Fault(Kind.AMBIGUOUS, "SERVER_ERROR", "the answer is empty"),
    "NET:NOT_HTTP": Fault(Kind.AMBIGUOUS, "SERVER_ERROR", "the answer is not HTTP"),
    "NET:NOT_TISS": Fault(Kind.AMBIGUOUS, "SERVER_ERROR", "the answer is no TISS message"),
    "NET:TOO_LARGE": Fault(Kind.AMBIGUOUS, "SERVER_ERROR", "the answer is larger than we read"),
    "NET:UNSAFE_XML": Fault(Kind.AMBIGUOUS, "SERVER_ERROR", "the answer holds XML that is never read"),
    "NET:ENCODING": Fault(Kind.AMBIGUOUS, "SERVER_ERROR", "the answer's encoding is not one of the standard"),
    "NET:ANSWER_HASH": Fault(
        Kind.AMBIGUOUS, "SERVER_ERROR", "the answer's hash is missing or wrong: it may be damaged"
    ),
    "NET:OTHER_BATCH": Fault(Kind.AMBIGUOUS, "SERVER_ERROR", "the answer speaks of another batch"),
    # a cancellation that is asked for before a batch is sent again
    "CANCEL:4": Fault(Kind.TRANSIENT, "TEMPORARY_ERROR", "the payer is still cancelling the first send"),
    # HTTP, where the body holds nothing more precise
    "HTTP:400": Fault(Kind.REFUSED, "MESSAGE_INVALID", "the payer calls the request invalid"),
    "HTTP:401": Fault(Kind.ACCESS, "UNAUTHORIZED", "the payer refuses our credentials"),
    "HTTP:403": Fault(Kind.ACCESS, "FORBIDDEN", "the payer denies us access"),
    "HTTP:404": Fault(Kind.REFUSED, "CHANNEL_CONFIGURATION", "there is no service at this address"),
    "HTTP:405": Fault(Kind.REFUSED, "CHANNEL_CONFIGURATION", "the address takes no SOAP messages"),
    "HTTP:408": Fault(Kind.TRANSIENT, "TIMEOUT", "the payer gave up reading the request"),
    "HTTP:410": Fault(Kind.REFUSED, "CHANNEL_CONFIGURATION", "the service at this address is gone"),
    "HTTP:413": Fault(Kind.REFUSED, "TOO_BIG", "the batch is too big for the payer: split it"),
    "HTTP:415": Fault(Kind.REFUSED, "CHANNEL_CONFIGURATION", "the address takes no SOAP 1.1"),
    "HTTP:422": Fault(Kind.REFUSED, "MESSAGE_INVALID", "the payer cannot process the request"),
    "HTTP:425": Fault(Kind.TRANSIENT, "RATE_LIMIT", "the payer asks to come later"),
    "HTTP:429": Fault(Kind.TRANSIENT, "RATE_LIMIT", "too many requests for the payer"),
    "HTTP:500": Fault(Kind.AMBIGUOUS, "SERVER_ERROR", "the payer's system failed"),
    "HTTP:502": Fault(Kind.AMBIGUOUS_DOWN, "SERVICE_UNAVAILABLE", "the payer's gateway has no service"),
    "HTTP:503": Fault(Kind.AMBIGUOUS_DOWN, "SERVICE_UNAVAILABLE", "the payer's service is down"),
    "HTTP:504": Fault(Kind.AMBIGUOUS_DOWN, "TIMEOUT", "the payer's gateway waited in vain"),
    # SOAP faults without one of the seven words
    "SOAP:Client": Fault(Kind.REFUSED, "MESSAGE_INVALID", "the payer blames our message"),
    "SOAP:Server": Fault(Kind.AMBIGUOUS, "SERVER_ERROR", "the payer blames its own system"),
    # the seven words
    f"FAULT:{FaultWord.WRONG_ADDRESSEE}": Fault(
        Kind.REFUSED, "CHANNEL_CONFIGURATION", "the payer is not the one the message names"
    ),
    f"FAULT:{FaultWord.WRONG_SENDER}": Fault(
        Kind.REFUSED, "CHANNEL_CONFIGURATION", "the payer does not know the provider"
    ),
    f"FAULT:{FaultWord.WRONG_LOGIN}": Fault(Kind.ACCESS, "UNAUTHORIZED", "login or password is wrong"),
    f"FAULT:{FaultWord.WRONG_VERSION}": Fault(
        Kind.REFUSED, "CHANNEL_CONFIGURATION", "the payer does not speak this version of the standard"
    ),
    f"FAULT:{FaultWord.WRONG_HASH}": Fault(
        Kind.REFUSED, "MESSAGE_INVALID", "the payer computes another hash: see hash_encoding"
    ),
    f"FAULT:{FaultWord.WRONG_SCHEMA}": Fault(
        Kind.REFUSED, "MESSAGE_INVALID", "the message does not follow the payer's schema"
    ),
    f"FAULT:{FaultWord.SERVER_ERROR}": Fault(Kind.AMBIGUOUS, "SERVER_ERROR", "the payer's system failed"),
    # Tabela 38 where it is not simply a refusal; the meaning is the table's own
    "TISS:1308": Fault(Kind.DUPLICATE, "DUPLICATE_CLAIM", ""),
    "TISS:3268": Fault(Kind.DUPLICATE, "DUPLICATE_CLAIM", ""),
    "TISS:3160": Fault(Kind.AMBIGUOUS, "TIMEOUT", ""),
    "TISS:5010": Fault(Kind.AMBIGUOUS, "TEMPORARY_ERROR", ""),
    "TISS:5012": Fault(Kind.AMBIGUOUS, "TEMPORARY_ERROR", ""),
    "TISS:1412": Fault(Kind.TRANSIENT, "SERVICE_UNAVAILABLE", ""),
    "TISS:5008": Fault(Kind.TRANSIENT, "TEMPORARY_ERROR", ""),
    "TISS:5009": Fault(Kind.TRANSIENT, "TEMPORARY_ERROR", ""),
    "TISS:3162": Fault(Kind.TRANSIENT, "TEMPORARY_ERROR", ""),
    "TISS:3291": Fault(Kind.TRANSIENT, "TEMPORARY_ERROR", ""),
}
REFUSAL = Fault(Kind.REFUSED, "REFUSED", "")
UNNUMBERED = "TISS:0000"
CANCELLING = "CANCEL:4"


def failure(code: str, *, said: str = "", retry_after: timedelta | None = None) -> Failure:
    """The outcome of a failure; `said` is a detail in our own words."""
    fault = FAULTS.get(code, REFUSAL)
    error = f"{fault.word} - {_meaning(code, fault)}{f' ({said})' if said else ''}"
    match fault.kind:
        case Kind.REFUSED:
            return Refused(code, error)
        case Kind.DUPLICATE:
            return KnownAlready(code, error)
        case Kind.TRANSIENT:
            return Transient(code, error, retry_after)
        case Kind.DOWN:
            return PayerDown(code, error, retry_after)
        case Kind.AMBIGUOUS | Kind.AMBIGUOUS_DOWN:
            return Ambiguous(code, error, retry_after, fault.kind is Kind.AMBIGUOUS_DOWN)
        case Kind.ACCESS:
            return AccessDenied(code, error)


def http_failure(status: int, *, retry_after: timedelta | None = None) -> Failure:
    """The outcome of an HTTP status; uncommon ones count as the common one of their family."""
    code = f"HTTP:{status}"
    return failure(
        code if code in FAULTS else _family(status), said=f"HTTP {status}", retry_after=retry_after
    )


def _family(status: int) -> str:
    if status < 300:
        return "NET:NOT_TISS"
    if status < 400:
        return "HTTP:404"
    return "HTTP:400" if status < 500 else "HTTP:500"


def _meaning(code: str, fault: Fault) -> str:
    return fault.meaning or f"TISS {code[5:]} {glosa_meaning(code[5:])}"
