"""All that the console's people work with: broker, PostgreSQL, simulated payers, mail server, a worker."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from domain.access import Role
from domain.claim_state import ClaimState
from gateways.engine_clock import EngineClock
from gateways.practice.mail_server import Mailbox, mail_server
from gateways.practice.simulator.scenario import Scenario
from gateways.practice.simulator.server import Simulator, simulated_payers
from gateways.zeebe import engine
from persistence.encryption.keys import made_cipher
from persistence.repositories.people import NewPerson
from tests.browser.visitor import login_of
from tests.support.at_work import at_work
from tests.support.console_stage import PASSWORD
from tests.support.payers_file import payers_file
from tests.support.tiss_samples import PAYER, file_bytes, file_text
from tests.support.waiting import eventually
from workers.app.cluster import embedded
from workers.app.composition import App, running
from workers.app.databases import migrate_database
from workers.claims.examination import ClaimFile
from workers.config.console import ConsoleSettings
from workers.config.fairness import FairnessSettings
from workers.config.mail import MailSettings
from workers.config.settings import PayerFiles, Settings
from workers.console.access.people import PeopleDesk
from workers.console.serving import serving_console
from workers.console.words import LANGUAGES
from workers.runtime.beside import beside

STEERED = {"pt": "888881", "en": "888882"}
"""Payers that people steer: nobody else's claims wait for them."""
SECOND = {"pt": "rui-pt", "en": "rui-en"}
"""Who confirms what somebody else has proposed."""
PATIENCE_SECONDS = 120
PEOPLE = ("people@hospital.example",)


@dataclass(frozen=True, slots=True)
class Live:
    """What is open; the payer answers by the first digits of a batch's number (`scenario_of`)."""

    app: App
    clock: EngineClock
    simulator: Simulator
    mailbox: Mailbox
    address: str

    async def hand_in(self, number: int) -> str:
        """A batch comes in; the id of its claim."""
        data = file_bytes(file_text(str(number), first=number))
        return (await self.app.intake.submit(ClaimFile(data, payer=PAYER))).claim_id.value

    async def reaches(self, claim_id: str, *states: ClaimState) -> None:
        """Wait until a claim is in one of these states."""

        async def look() -> bool:
            row = await self.app.store.look(lambda tx: tx.claims.find(claim_id))
            return row is not None and row.state in states

        await eventually(look, PATIENCE_SECONDS)

    def times_taken(self, number: int) -> int:
        """How often the payer took a batch."""
        return self.simulator.ledger.times_taken()[PAYER, str(number)]

    async def orders(self, claim_id: str) -> list[str]:
        """What people ordered of a claim."""
        kept = await self.app.store.look(lambda tx: tx.orders.about_claim(claim_id))
        return [one.action for one in kept]

    @asynccontextmanager
    async def faster(self) -> AsyncIterator[None]:
        """Engine time passes a few times as fast; what is due waits for the machine, never the other way."""

        async def run() -> None:
            while True:
                await self.clock.advance(timedelta(seconds=1))
                await asyncio.sleep(0.3)

        async with beside(run()):
            yield


def scenario_of(*rules: Mapping[str, object]) -> Scenario:
    """The payer that claims go to with these rules, and one for each language that is only steered."""
    steered = [{"registro_ans": payer} for payer in STEERED.values()]
    return Scenario.model_validate({"payers": [{"registro_ans": PAYER, "rules": rules}, *steered]})


@asynccontextmanager
async def live(
    broker: engine.RunningEngine, folder: Path, database: str, *, scenario: Scenario, pace: int
) -> AsyncIterator[Live]:
    """Open everything, a worker on it, and the console as it is served."""
    clock = EngineClock(broker.management_url)
    async with AsyncExitStack() as stack:
        simulator = await stack.enter_async_context(simulated_payers(scenario, clock))
        mailbox = await stack.enter_async_context(mail_server(Mailbox()))
        settings = _settings(folder, database, mailbox.port)
        files = PayerFiles(file=payers_file(folder, _payers(simulator, scenario, pace)))
        settings = settings.model_copy(update={"payers": files})
        await migrate_database(settings)
        made_cipher(folder)
        app = await stack.enter_async_context(running(settings, embedded(broker)))
        await app.deploy()
        await stack.enter_async_context(at_work(app, "browser"))
        served = await stack.enter_async_context(serving_console(app))
        await _let_in(app, served.console.entrance.passwords.hashed(PASSWORD))
        yield Live(app, clock, simulator, mailbox, served.address)


def _payers(simulator: Simulator, scenario: Scenario, pace: int) -> str:
    return "\n".join(
        f'[payers.{one.registro_ans}]\nendpoint = "{simulator.url}/{one.registro_ans}"\n'
        f'version = "4.03.00"\nrequests_per_minute = {pace}\nat_once = 16\n'
        for one in scenario.payers
    )


def _settings(folder: Path, database: str, mail_port: int) -> Settings:
    """By two people what ends a claim; mail without a pace but the server's."""
    mail = MailSettings(
        smtp_host="127.0.0.1",
        smtp_port=mail_port,
        smtp_security="none",
        sender="reenvio@hospital.example",
        to_registration=PEOPLE,
        to_billing_management=PEOPLE,
        to_operations=PEOPLE,
        to_administrator=PEOPLE,
    )
    quick = FairnessSettings(at_once=8, company_at_once=8, per_minute=100_000, company_per_minute=100_000)
    console = ConsoleSettings(port=0, write_off_by_two=True)
    return Settings(home=folder, database_url=database, mail=mail, fairness=quick, console=console)


async def _let_in(app: App, hashing: Awaitable[str]) -> None:
    """Somebody of each role for each language, and a second one who may write off."""
    now, hashed = await app.clock.now(), await hashing
    desk = PeopleDesk(app.store, "a test")
    for role, language in itertools.product(Role, LANGUAGES):
        login = login_of(role, language)
        await desk.add(NewPerson(login, f"Ana {role.title()}", frozenset({role}), language, hashed), now)
    for language in LANGUAGES:
        second = NewPerson(SECOND[language], "Rui Sá", frozenset({Role.BILLING_MANAGEMENT}), language, hashed)
        await desk.add(second, now)
