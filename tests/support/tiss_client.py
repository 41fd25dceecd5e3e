"""A client of one payer with its own connections, and results without their texts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from domain.submission import Accepted, AnswerLost, Failed, SendResult
from gateways.tiss.client import TissClient
from gateways.tiss.exchange import ExchangeListener
from gateways.tiss.settings import PayerSettings
from gateways.tiss.transport import open_line
from gateways.tiss.validation import Schemas


@asynccontextmanager
async def open_client(
    payer: PayerSettings, schemas: Schemas, *, listener: ExchangeListener | None = None
) -> AsyncIterator[TissClient]:
    """A client whose connections are closed at the end."""
    async with open_line(payer) as line:
        yield TissClient(payer, line, schemas, listener=listener)


def bare(result: SendResult) -> SendResult:
    """A failure as the fault map names it: without text, code and the payer's wish to wait."""
    match result:
        case Accepted():
            return result
        case Failed() | AnswerLost():
            return replace(result, error="", code=None, retry_after=None)
        case _:
            return replace(result, error="", code=None)
