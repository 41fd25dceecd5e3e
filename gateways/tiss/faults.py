"""The fault map: one table that says what each failure means for the batch.

Codes are the policy's (`SCHEME:CODE`); each error text begins with a word of the policy's lists, so that
the text alone is classified as its code is.
"""

from dataclasses import dataclass, replace
from datetime import timedelta

from domain.own_words import OwnWords
from domain.submission import AccessDenied, AnswerLost, Duplicate, Failed, Failure, OwnTrouble
from gateways.own_limits import NO_FILES
from gateways.tiss.glosas import glosa_meaning
from gateways.tiss.names import FaultWord

# the results of the table, each before it has its text and its code
REFUSED = Failed("", refused=True)
DUPLICATE = Duplicate()
DUPLICATE_GUIDE = Duplicate(of="guide")
TRANSIENT = Failed("")
DOWN = Failed("", payer_down=True)
LOST = AnswerLost("")
LOST_DOWN = AnswerLost("", payer_down=True)
DENIED = AccessDenied("")
OURS = OwnTrouble("")


@dataclass(frozen=True, slots=True)
class Fault:
    """One line of the table: the result it stands for, without its text, and the words of that text."""

    result: Failure
    word: str
    meaning: str


FAULTS: dict[str, Fault] = {
    # our own machine, before a connection was there
    "NET:OWN_FILES": Fault(OURS, "TEMPORARY_ERROR", f"we are {NO_FILES}"),
    "NET:OWN_MEMORY": Fault(OURS, "TEMPORARY_ERROR", "we are out of memory: give the worker more"),
    "NET:OWN_THREADS": Fault(
        OURS,
        "TEMPORARY_ERROR",
        "no thread can be started: raise the limit (ulimit -u)",
    ),
    # the network, before the last byte of the message had left: it cannot have arrived
    "NET:DNS": Fault(DOWN, "CONNECTION_ERROR", "the payer's host name is not known"),
    "NET:REFUSED": Fault(DOWN, "CONNECTION_REFUSED", "the payer refuses connections"),
    "NET:UNREACHABLE": Fault(DOWN, "CONNECTION_ERROR", "the payer cannot be reached"),
    "NET:CONNECT_TIMEOUT": Fault(DOWN, "TIMEOUT", "no connection to the payer in time"),
    "NET:TLS": Fault(DOWN, "CONNECTION_ERROR", "no secure connection could be agreed on"),
    "NET:WRITE_TIMEOUT": Fault(TRANSIENT, "TIMEOUT", "the message could not be sent whole in time"),
    "NET:BROKEN_SEND": Fault(
        TRANSIENT, "CONNECTION_ERROR", "the connection broke before the whole message had left"
    ),
    "NET:BUSY": Fault(TRANSIENT, "TEMPORARY_ERROR", "all our connections to the payer are in use"),
    "NET:CERTIFICATE": Fault(
        REFUSED,
        "CERTIFICATE_NOT_TRUSTED",
        "the payer's certificate is not trusted: set ca_file, or ask the payer",
    ),
    "NET:CLIENT_CERTIFICATE": Fault(DENIED, "UNAUTHORIZED", "the payer refuses our certificate"),
    # the network, after the last byte had left: it may have arrived
    "NET:READ_TIMEOUT": Fault(LOST_DOWN, "TIMEOUT", "no answer in time after the message had left"),
    "NET:RESET": Fault(LOST_DOWN, "CONNECTION_RESET", "the connection broke after the message had left"),
    "NET:TRUNCATED": Fault(LOST, "SERVER_ERROR", "the answer breaks off"),
    "NET:EMPTY_BODY": Fault(LOST, "SERVER_ERROR", "the answer is empty"),
    "NET:NOT_HTTP": Fault(LOST, "SERVER_ERROR", "the answer is not HTTP"),
    "NET:NOT_TISS": Fault(LOST, "SERVER_ERROR", "the answer is no TISS message"),
    "NET:TOO_LARGE": Fault(LOST, "SERVER_ERROR", "the answer is larger than we read"),
    "NET:UNSAFE_XML": Fault(LOST, "SERVER_ERROR", "the answer holds XML that is never read"),
    "NET:ENCODING": Fault(LOST, "SERVER_ERROR", "the answer's encoding is not one of the standard"),
    "NET:ANSWER_HASH": Fault(
        LOST, "SERVER_ERROR", "the answer's hash is missing or wrong: it may be damaged"
    ),
    "NET:OTHER_BATCH": Fault(LOST, "SERVER_ERROR", "the answer speaks of another batch"),
    "NET:CONTRADICTION": Fault(LOST, "SERVER_ERROR", "the answer holds a receipt and an error"),
    # a cancellation that is asked for before a batch is sent again
    "CANCEL:4": Fault(TRANSIENT, "TEMPORARY_ERROR", "the payer is still cancelling the first send"),
    # HTTP, where the body holds nothing more precise
    "HTTP:400": Fault(REFUSED, "MESSAGE_INVALID", "the payer calls the request invalid"),
    "HTTP:401": Fault(DENIED, "UNAUTHORIZED", "the payer refuses our credentials"),
    "HTTP:403": Fault(
        DENIED,
        "FORBIDDEN",
        "the payer denies us access, or a firewall before it denies this file; "
        "a claim that is denied again while others are taken is set aside",
    ),
    "HTTP:404": Fault(REFUSED, "CHANNEL_CONFIGURATION", "there is no service at this address"),
    "HTTP:405": Fault(REFUSED, "CHANNEL_CONFIGURATION", "the address takes no SOAP messages"),
    "HTTP:408": Fault(TRANSIENT, "TIMEOUT", "the payer gave up reading the request"),
    "HTTP:410": Fault(REFUSED, "CHANNEL_CONFIGURATION", "the service at this address is gone"),
    "HTTP:413": Fault(REFUSED, "TOO_BIG", "the batch is too big for the payer: split it"),
    "HTTP:415": Fault(REFUSED, "CHANNEL_CONFIGURATION", "the address takes no SOAP 1.1"),
    "HTTP:422": Fault(REFUSED, "MESSAGE_INVALID", "the payer cannot process the request"),
    "HTTP:425": Fault(TRANSIENT, "RATE_LIMIT", "the payer asks to come later"),
    "HTTP:429": Fault(TRANSIENT, "RATE_LIMIT", "too many requests for the payer"),
    "HTTP:500": Fault(LOST, "SERVER_ERROR", "the payer's system failed"),
    "HTTP:502": Fault(LOST_DOWN, "SERVICE_UNAVAILABLE", "the payer's gateway has no service"),
    "HTTP:503": Fault(LOST_DOWN, "SERVICE_UNAVAILABLE", "the payer's service is down"),
    "HTTP:504": Fault(LOST_DOWN, "TIMEOUT", "the payer's gateway waited in vain"),
    # SOAP faults without one of the seven words
    "SOAP:Client": Fault(REFUSED, "MESSAGE_INVALID", "the payer blames our message"),
    "SOAP:Server": Fault(LOST, "SERVER_ERROR", "the payer blames its own system"),
    # the seven words
    f"FAULT:{FaultWord.WRONG_ADDRESSEE}": Fault(
        REFUSED, "CHANNEL_CONFIGURATION", "the payer is not the one the message names"
    ),
    f"FAULT:{FaultWord.WRONG_SENDER}": Fault(
        REFUSED, "CHANNEL_CONFIGURATION", "the payer does not know the provider"
    ),
    f"FAULT:{FaultWord.WRONG_LOGIN}": Fault(DENIED, "UNAUTHORIZED", "login or password is wrong"),
    f"FAULT:{FaultWord.WRONG_VERSION}": Fault(
        REFUSED, "CHANNEL_CONFIGURATION", "the payer does not speak this version of the standard"
    ),
    f"FAULT:{FaultWord.WRONG_HASH}": Fault(
        REFUSED, "MESSAGE_INVALID", "the payer computes another hash: see hash_encoding"
    ),
    f"FAULT:{FaultWord.WRONG_SCHEMA}": Fault(
        REFUSED, "MESSAGE_INVALID", "the message does not follow the payer's schema"
    ),
    f"FAULT:{FaultWord.SERVER_ERROR}": Fault(LOST, "SERVER_ERROR", "the payer's system failed"),
    # Tabela 38 where it is not simply a refusal; the meaning is the table's own
    "TISS:1308": Fault(DUPLICATE_GUIDE, "DUPLICATE_CLAIM", ""),
    "TISS:3268": Fault(DUPLICATE, "DUPLICATE_CLAIM", ""),
    "TISS:3160": Fault(LOST, "TIMEOUT", ""),
    "TISS:5010": Fault(LOST, "TEMPORARY_ERROR", ""),
    "TISS:5012": Fault(LOST, "TEMPORARY_ERROR", ""),
    "TISS:1412": Fault(TRANSIENT, "SERVICE_UNAVAILABLE", ""),
    "TISS:5008": Fault(TRANSIENT, "TEMPORARY_ERROR", ""),
    "TISS:5009": Fault(TRANSIENT, "TEMPORARY_ERROR", ""),
    "TISS:3162": Fault(TRANSIENT, "TEMPORARY_ERROR", ""),
    "TISS:3291": Fault(TRANSIENT, "TEMPORARY_ERROR", ""),
}
ANY_OTHER = Fault(REFUSED, "REFUSED", "")
UNNUMBERED = "TISS:0000"
CANCELLING = "CANCEL:4"
NO_SUCH_PROTOCOL = frozenset({"TISS:3162", "TISS:3291"})
"""The payer does not know the protocol that it was asked about; 3162 until 4.02."""


def failure(code: str, *, said: str = "", retry_after: timedelta | None = None) -> Failure:
    """The result of a failure; `said` is a detail in our own words."""
    fault = FAULTS.get(code, ANY_OTHER)
    error = OwnWords(f"{fault.word} - {_meaning(code, fault)}{f' ({said})' if said else ''}")
    match fault.result:
        case Failed(refused=False) | AnswerLost() as may_pass:
            return replace(may_pass, error=error, code=code, retry_after=retry_after)
        case final:
            return replace(final, error=error, code=code)


def is_own_sentence(text: str, code: str | None) -> bool:
    """Whether the text is what this table says of the code, wherever it has been since."""
    return code is not None and text == failure(code).error


def http_failure(status: int, *, said: str = "", retry_after: timedelta | None = None) -> Failure:
    """The result of an HTTP status; uncommon ones count as the common one of their family."""
    code = f"HTTP:{status}"
    return failure(
        code if code in FAULTS else _family(status), said=f"HTTP {status}{said}", retry_after=retry_after
    )


def _family(status: int) -> str:
    if status < 300:
        return "NET:NOT_TISS"
    if status < 400:
        return "HTTP:404"
    return "HTTP:400" if status < 500 else "HTTP:500"


def _meaning(code: str, fault: Fault) -> str:
    return fault.meaning or f"TISS {code[5:]} {glosa_meaning(code[5:])}"
