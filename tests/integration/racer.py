"""One of several processes that want the same at once: `python -m tests.integration.racer URL FOLDER ME`.

Prints which operations it was let to start and how each decision was answered.
"""

import asyncio
import json
import sys
import time
from datetime import timedelta
from pathlib import Path

from persistence.database.engine import open_database
from persistence.repositories.idempotency import OperationKey, OperationTerms, StartedOperation
from persistence.store import Store
from tests.support.builders import NOW, draft, later
from tests.support.databases import SEALS

ROUNDS = 40
PATIENCE_SECONDS = 60.0


def key(number: int) -> OperationKey:
    """The operation that everybody wants in a round."""
    return OperationKey(str(number), "Task_SubmitClaim", "submit_claim", {"claimId": f"CLM-RACE-{number}"})


async def race(store: Store, me: int) -> dict[str, object]:
    """Go for everything, in the same order as everybody else."""
    terms = OperationTerms(lease=timedelta(minutes=5))
    started, answers = [], {}
    for number in range(ROUNDS):
        begun = await store.run(lambda tx, n=number: tx.idempotency.begin(key(n), terms, now=NOW))  # type: ignore[misc]
        if isinstance(begun, StartedOperation):
            started.append(number)
        mine = draft(f"CLM-RACE-{number}", job_key=number, now=later(seconds=me))
        answers[number] = (await store.record(mine)).result
    return {"started": started, "answers": answers}


def wait_for_the_others(folder: Path, me: int) -> None:
    """Say that we are ready, and wait for the shot."""
    (folder / f"ready-{me}").touch()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (folder / "go").exists():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def main(url: str, folder: Path, me: int) -> None:
    """Run."""
    store = Store(open_database(url), SEALS)
    wait_for_the_others(folder, me)
    print(json.dumps(asyncio.run(race(store, me))))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
