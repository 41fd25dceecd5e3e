"""One of several worker processes: `python -m tests.integration.tiss.sender DATABASE PAYER_URL FIRST`.

Submits claims as the job handler does, all at once, and prints how each job was answered.
"""

import asyncio
import json
import sys

from domain.submission import PayerGateway
from gateways.clock import WallClock
from gateways.tiss.client import open_client
from gateways.tiss.gateway import TissGateway
from gateways.tiss.validation import Schemas
from persistence.database import open_database
from persistence.store import Store
from tests.unit.tiss.samples import LOGIN, PAYER, file_bytes, file_text, payer
from workers.jobs.submit_claim import submit_claim
from workers.logs import configure_logs
from workers.payers.book import book_of
from workers.payers.waking import Waker
from workers.policy import PolicySource
from workers.runtime import Incident, Job, Throw

CLAIMS = 8


async def payload(claim_id: str) -> bytes:
    """The batch of a claim, numbered after it."""
    number = claim_id.rpartition("-")[2]
    return file_bytes(file_text(number, first=int(number)))


async def send_all(store: Store, gateway: PayerGateway, waker: Waker, first: int) -> list[str]:
    """Submit the claims of this process at once."""
    handler = submit_claim(store, gateway, PolicySource(None).current, WallClock(), waker)

    async def one(number: int) -> str:
        variables = {"claimId": f"CLM-S-{number}", "payerId": PAYER}
        outcome = await handler.handle(Job(number, handler.type, "Task", number, 3, {}, variables))
        if isinstance(outcome, Throw):
            return outcome.code
        return f"INCIDENT {outcome.message}" if isinstance(outcome, Incident) else "COMPLETE"

    return await asyncio.gather(*(one(number) for number in range(first, first + CLAIMS)))


async def main(database: str, endpoint: str, first: int) -> None:
    """Run."""
    configure_logs("error", "json")
    settings = payer(endpoint, login=LOGIN.name, password=LOGIN.password_md5)
    store = Store(open_database(database))
    async with open_client(settings, Schemas()) as client:
        waker = Waker(store, book_of({PAYER: settings}))
        gateway = TissGateway({PAYER: client}, payload)
        print(json.dumps(await send_all(store, gateway, waker, first)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
