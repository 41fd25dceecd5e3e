"""Amazon SES (the extra `ses`): boto3 in threads, with its own repetitions switched off, since ours count."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from domain.errors import Trouble
from domain.mail.codes import MailFailure, OwnCode, api_failure
from domain.mail.sending import MailAnswerLost, MailNotSent, MailResult, MailSent, RenderedMail
from gateways.mail.message import message_bytes


class SesMissingError(Trouble):
    """The extra is not installed; the text says how to."""

    exit_code = 2


class SesRefusedError(Trouble):
    """The account cannot be used as it is set; the text says what to look at."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class SesAccount:
    """Which SES, and as whom; credentials are found as every AWS tool finds them.

    `seconds` is all the time that one attempt has: half of it for the connection, all of it for each silence.
    """

    sender: str
    region: str
    endpoint: str | None = None
    seconds: float = 20.0
    connections: int = 5


class SesMail:
    """Hands mail over to SES."""

    def __init__(self, account: SesAccount) -> None:
        self._account = account
        self._client = _client(account)
        self._threads = ThreadPoolExecutor(account.connections, thread_name_prefix="ses")

    async def send(self, mail: RenderedMail) -> MailResult:
        """Try once; in threads of our own, since one that hangs would be missed by all who share them."""
        handed = self._threads.submit(self._send, mail.to, message_bytes(mail, self._account.sender))
        try:
            async with asyncio.timeout(self._account.seconds) as time:
                await asyncio.wrap_future(handed)
        except Exception as error:
            return _out_of_time(handed) if time.expired() else _result(error)
        return MailSent(mail.message_id)

    async def close(self) -> None:
        """Let go of what is open."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._client.close()

    def _send(self, to: Sequence[str], data: bytes) -> None:
        self._client.send_email(
            FromEmailAddress=self._account.sender,
            Destination={"ToAddresses": list(to)},
            Content={"Raw": {"Data": data}},
        )


def _client(account: SesAccount) -> Any:
    try:
        boto3, config = import_module("boto3"), import_module("botocore.config")
    except ImportError as missing:
        raise SesMissingError("Mail through SES needs the extra: `pip install reenvio[ses]`.") from missing
    options = config.Config(
        connect_timeout=account.seconds / 2,
        read_timeout=account.seconds,
        max_pool_connections=account.connections,
        retries={"total_max_attempts": 1},
    )
    place = {"region_name": account.region, "endpoint_url": account.endpoint}
    try:
        return boto3.Session().client("sesv2", config=options, **place)
    except (import_module("botocore.exceptions").BotoCoreError, ValueError) as refused:
        see = "See MAIL_SES_REGION, MAIL_SES_ENDPOINT and AWS_PROFILE."
        raise SesRefusedError(f"Mail through SES cannot begin: {refused}. {see}") from refused


def _out_of_time(handed: Future[None]) -> MailNotSent | MailAnswerLost:
    """One that never got a thread has not left."""
    if handed.cancelled():
        return MailNotSent(MailFailure(OwnCode.TIMEOUT))
    return MailAnswerLost(MailFailure(OwnCode.ANSWER_LOST))


def _result(error: Exception) -> MailNotSent | MailAnswerLost:
    """What botocore's exceptions mean; one that nobody foresaw comes of an answer that nobody can read."""
    kinds = import_module("botocore.exceptions")
    if isinstance(error, kinds.ClientError):
        told = error.response.get("Error", {})
        return MailNotSent(api_failure(str(told.get("Code", "")), str(told.get("Message", ""))))
    if code := _never_left(error, kinds):
        return MailNotSent(MailFailure(code, said=str(error)))
    return MailAnswerLost(MailFailure(OwnCode.ANSWER_LOST, said=str(error)))


def _never_left(error: Exception, kinds: Any) -> OwnCode | None:
    """Why a request was not even made; None where one may have been."""
    nobody = (
        kinds.NoCredentialsError, kinds.PartialCredentialsError, kinds.CredentialRetrievalError,
        kinds.TokenRetrievalError, kinds.MetadataRetrievalError, kinds.SSOError, kinds.NoAuthTokenError,
    )  # fmt: skip
    reasons = {
        kinds.ConnectTimeoutError: OwnCode.TIMEOUT,
        kinds.SSLError: OwnCode.TLS_FAILED,
        kinds.ConnectionError: OwnCode.CONNECTION_FAILED,
        kinds.ParamValidationError: OwnCode.OWN_FAULT,
        nobody: OwnCode.NO_CREDENTIALS,
    }
    return next((code for kind, code in reasons.items() if isinstance(error, kind)), None)
