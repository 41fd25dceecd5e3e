"""`reenvio demo | up | work | deploy`: whole parts at once."""

import asyncio
import dataclasses
import shutil
from typing import Annotated

import typer
from rich.console import Console

from bpmn.names import JobType
from domain.practice import PRACTICE_PREFIX
from gateways.private_folders import private_folder
from gateways.zeebe import engine
from workers.api import serve_beside_api
from workers.app.cluster import find_cluster
from workers.app.composition import claims_flowing, running, working
from workers.app.databases import migrate_database
from workers.app.logs import configure_logs
from workers.app.mail import mail_folder
from workers.app.serving import relaying
from workers.cli.engine_broker import RichReporter, tell_operate
from workers.cli.engine_parts import start_engine, stop_engine
from workers.cli.operator import shell_user
from workers.cli.output import say
from workers.config.cluster import connection_from
from workers.config.settings import Settings, read_settings
from workers.console.serving import Served, local_link, serving_console
from workers.demo.run import run_demo
from workers.payers.practice import answers_here, require_payers

PRACTISES = (
    "PRACTICE: no payers are set, so a practice payer answers. No claim leaves this machine, and every "
    f"protocol is made up (it begins with {PRACTICE_PREFIX}). Set PAYERS_FILE to send claims."
)


WRITES_MAIL = (
    "MAIL: no mail server is set, so notices are written as .eml files into {folder}. Set MAIL_SMTP_HOST or "
    "MAIL_SES_REGION to send them (docs/mail.md)."
)


def demo(
    keep: Annotated[bool, typer.Option(help="Leave the engine running and the data in place.")] = False,
    operate: Annotated[bool, typer.Option(help="With Camunda's Operate and Tasklist.")] = False,
) -> None:
    """Sample claims through four hours of a payer's bad day, in about a minute."""
    console = Console()
    settings = read_settings()
    configure_logs("error", settings.logs.format)
    home = settings.home / "demo"
    config = dataclasses.replace(settings.engine.config(), home=home / "engine")
    stop_engine(config)
    shutil.rmtree(home, ignore_errors=True)
    private_folder(home)
    broker = start_engine(config, RichReporter(console), operate=operate)
    tell_operate(console, config, broker)
    try:
        unexpected = asyncio.run(run_demo(console, broker, settings.model_copy(update={"home": home})))
    except KeyboardInterrupt:
        console.print("Stopped.")
        raise typer.Exit(130) from None
    finally:
        if keep:
            say(console, f"The engine runs on: ENGINE_HOME={config.home} reenvio engine stop ends it.")
        else:
            stop_engine(config)
    raise typer.Exit(1 if unexpected else 0)


def up() -> None:
    """Engine, database, models and workers in real time; Ctrl-C stops what this started."""
    settings = _practising(_settings())
    require_payers(settings.payers)
    settings.mail.require_fit()
    if not settings.mail.leaves:
        say(Console(stderr=True), WRITES_MAIL.format(folder=mail_folder(settings)))
    if connection_from(settings.cluster):
        asyncio.run(_up(settings))
        return
    config = settings.engine.config()
    ours = engine.status(config) is None
    console = Console(stderr=True)
    tell_operate(console, config, start_engine(config, RichReporter(console)))
    try:
        asyncio.run(_up(settings))
    finally:
        if ours:
            stop_engine(config)


def work(
    only: Annotated[
        list[JobType] | None, typer.Option(help="Serve only this job type; may be repeated.")
    ] = None,
) -> None:
    """Serve jobs until SIGINT or SIGTERM; a second signal stops at once."""
    settings = _settings()
    asyncio.run(_work(settings, frozenset(only or JobType)))


def deploy() -> None:
    """Deploy our BPMN models; equal ones keep their version."""
    asyncio.run(_deploy(_settings()))


def _settings() -> Settings:
    settings = read_settings()
    configure_logs(settings.logs.level, settings.logs.format)
    return settings


def _practising(settings: Settings) -> Settings:
    """The same settings; with a payer for practice where no payers, no cluster and no database are set."""
    files = settings.payers
    if files.practises or not answers_here(settings):
        return settings
    say(Console(stderr=True), PRACTISES)
    return settings.model_copy(update={"payers": files.model_copy(update={"practice": True})})


async def _up(settings: Settings) -> None:
    await migrate_database(settings)
    await _deploy(settings)
    async with (
        claims_flowing(settings, find_cluster(settings)) as app,
        relaying(settings, app.store, app.metering),
        serving_console(app) as served,
    ):
        await _tell_console(settings, served)
        await serve_beside_api(app, frozenset(JobType))


async def _tell_console(settings: Settings, served: Served) -> None:
    """Where the console is, and how to come in."""
    console = Console(stderr=True)
    say(console, f"CONSOLE: {served.address}")
    if link := await local_link(served, settings, shell_user()):
        say(console, f"CONSOLE: come in once, within 15 minutes, by {link}")


async def _work(settings: Settings, only: frozenset[JobType]) -> None:
    claims = JobType.SUBMIT_CLAIM in only or settings.api.port is not None
    opened = claims_flowing if claims else working
    async with opened(settings, find_cluster(settings)) as app:
        await serve_beside_api(app, only)


async def _deploy(settings: Settings) -> None:
    async with running(settings, find_cluster(settings)) as app:
        await app.deploy()
