"""Amazon SES (the extra `ses`): boto3 in threads, with its own repetitions switched off, since ours count."""

import asyncio
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


@dataclass(frozen=True, slots=True)
class SesAccount:
    """Which SES, and as whom; credentials are found as every AWS tool finds them.

    `seconds` is all the time that one attempt has: half of it for the connection, half for each silence.
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

    async def send(self, mail: RenderedMail) -> MailResult:
        """Try once; what is not over in its time may still be taken: the thread cannot be called back."""
        try:
            async with asyncio.timeout(self._account.seconds):
                await asyncio.to_thread(self._send, mail)
        except TimeoutError:
            return MailAnswerLost(MailFailure(OwnCode.ANSWER_LOST, said="no answer in the attempt's time"))
        except Exception as error:
            return _result(error)
        return MailSent(mail.message_id)

    async def close(self) -> None:
        """Let go of what is open."""
        self._client.close()

    def _send(self, mail: RenderedMail) -> None:
        self._client.send_email(
            FromEmailAddress=self._account.sender,
            Destination={"ToAddresses": list(mail.to)},
            Content={"Raw": {"Data": message_bytes(mail, self._account.sender)}},
        )


def _client(account: SesAccount) -> Any:
    try:
        boto3, config = import_module("boto3"), import_module("botocore.config")
    except ImportError as missing:
        raise SesMissingError("Mail through SES needs the extra: `pip install reenvio[ses]`.") from missing
    options = config.Config(
        connect_timeout=account.seconds / 2,
        read_timeout=account.seconds / 2,
        max_pool_connections=account.connections,
        retries={"total_max_attempts": 1},
    )
    place = {"region_name": account.region, "endpoint_url": account.endpoint}
    return boto3.client("sesv2", config=options, **place)


def _result(error: Exception) -> MailNotSent | MailAnswerLost:
    """What botocore's exceptions mean; one that nobody foresaw is trouble on the way, not the end."""
    kinds = import_module("botocore.exceptions")
    if isinstance(error, kinds.ClientError):
        told = error.response.get("Error", {})
        return MailNotSent(api_failure(str(told.get("Code", "")), str(told.get("Message", ""))))
    if isinstance(error, kinds.ReadTimeoutError | kinds.ConnectionClosedError):
        return MailAnswerLost(MailFailure(OwnCode.ANSWER_LOST, said=str(error)))
    if isinstance(error, kinds.ConnectTimeoutError):
        return MailNotSent(MailFailure(OwnCode.TIMEOUT, said=str(error)))
    return MailNotSent(MailFailure(OwnCode.CONNECTION_FAILED, said=str(error)))
