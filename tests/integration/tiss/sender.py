"""One of several worker processes: `python -m tests.integration.tiss.sender DATABASE PAYER_URL FIRST`.

Submits claims as the job handler does, all at once, and prints how each job was answered.
"""

import asyncio
import json
import sys

from domain.submission import PayerGateway
from gateways.tiss.gateway import TissGateway
from gateways.tiss.validation import Schemas
from persistence.database.engine import open_database
from persistence.encryption.cipher import Cipher
from persistence.encryption.keys import cipher_of, new_key
from persistence.repositories.payloads import seal_payload
from persistence.store import Store
from tests.support.services import services
from tests.support.tiss_client import open_client
from tests.support.tiss_samples import LOGIN, NOW, PAYER, file_bytes, file_text, payer
from workers.app.logs import configure_logs
from workers.jobs.submit_claim import submit_claim
from workers.payers.limits import LimitsByPayer, limits_by_payer
from workers.runtime import Incident, Job, Throw

CLAIMS = 8


async def keep(store: Store, cipher: Cipher, number: int) -> None:
    """Store a claim's batch, numbered after it."""
    claim_id, file = f"CLM-S-{number}", file_bytes(file_text(f"{number}", first=number))
    sealed = seal_payload(cipher, claim_id, file)
    await store.run(lambda tx: tx.payloads.put(claim_id, sealed, now=NOW))


async def send_all(store: Store, gateway: PayerGateway, limits: LimitsByPayer, first: int) -> list[str]:
    """Submit the claims of this process at once."""
    cipher = cipher_of(new_key("k1"))
    handler = submit_claim(services(store, payer=gateway, payer_limits=limits, cipher=cipher))

    async def one(number: int) -> str:
        await keep(store, cipher, number)
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
        limits = limits_by_payer({PAYER: settings})
        gateway = TissGateway({PAYER: client})
        print(json.dumps(await send_all(store, gateway, limits, first)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
