"""Asks whether a payer's service is there: its WSDL, without credentials and without a claim."""

import asyncio

import httpx

from gateways.own_limits import own_limit
from gateways.tiss.connections import open_http
from gateways.tiss.settings import PayerSettings
from gateways.tiss.transport import TROUBLES

_ANSWER_SECONDS = 30.0


async def is_up(payer: PayerSettings) -> bool | None:
    """Whether anything but a server error answers, over the payer's own TLS, proxy and time-outs.

    None where a limit of our own keeps us from asking.
    """
    patience = 2 * payer.timeouts.connect + min(payer.timeouts.read, _ANSWER_SECONDS)
    mark = "&" if "?" in payer.endpoint else "?"
    try:
        async with (
            open_http(payer) as http,
            asyncio.timeout(patience),
            http.stream("GET", f"{payer.endpoint}{mark}wsdl", headers={"User-Agent": "reenvio"}) as answer,
        ):
            return answer.status_code < httpx.codes.INTERNAL_SERVER_ERROR
    except Exception as error:
        if own_limit(error):
            return None
        if isinstance(error, TROUBLES):
            return False
        raise
