"""`reenvio dlq purge`: removes dead letters."""

from dataclasses import replace
from datetime import timedelta
from typing import Annotated

import typer

from persistence.store import Store
from workers.app.cluster import clock_here
from workers.cli.database import with_trail
from workers.cli.dlq_options import (
    NONE_HERE,
    CodeOption,
    CompanyOption,
    listed,
    order_name,
    read_age,
    wanted_letters,
)
from workers.cli.operator import (
    FOR_GOOD,
    ByOption,
    ReasonOption,
    Subject,
    YesOption,
    asked,
    ordered,
    require_reason,
)
from workers.cli.output import bar, counted, tell
from workers.config.settings import read_settings
from workers.mail.dead_letters import move_in
from workers.upkeep.dead_letters import purge_letters


def purge(
    older_than: Annotated[
        timedelta, typer.Option("--older-than", parser=read_age, metavar="DAYS", help="Here for longer.")
    ],
    code: CodeOption = None,
    company: CompanyOption = None,
    reason: ReasonOption = None,
    by: ByOption = None,
    yes: YesOption = False,
) -> None:
    """Remove dead letters before their seven days are over; not those on their way. Export them first."""
    require_reason(reason)
    settings = read_settings()

    async def go(store: Store) -> None:
        now = await clock_here(settings, store).now()
        wanted = replace(wanted_letters(now, code, company, (older_than, None)), on_its_way=False)
        async with store.reading() as tx:
            number, codes = await tx.dead_letters.count(wanted), await tx.dead_letters.by_code(wanted)
        if not number:
            tell(NONE_HERE)
            return
        what = f"{counted(number, 'dead letter')} to be removed. By code: {listed(codes)}. {FOR_GOOD}"
        given = asked(what, reason, by, yes=yes)
        async with ordered(store, order_name("purge", wanted, number), Subject(), given, now):
            with bar("Removing", number) as advance:
                gone = await purge_letters(store, wanted, lambda done: advance(done, ""))
        tell(f"{counted(gone, 'dead letter')} removed.")
        if moved := await move_in(store, now):
            tell(f"{counted(moved, 'mail')} that had found no room moved in.")

    with_trail(go, settings)
