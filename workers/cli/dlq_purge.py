"""`reenvio dlq purge`: removes dead letters."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Annotated

import typer

from persistence.store import Store
from workers.app.cluster import clock_here
from workers.cli.database import with_trail
from workers.cli.dlq_options import (
    CodeOption,
    CompanyOption,
    listed,
    none_fit,
    read_age,
    wanted_letters,
)
from workers.cli.operator import FOR_GOOD, ByOption, ReasonOption, YesOption, asked, require_reason
from workers.cli.output import bar, counted, tell
from workers.config.settings import read_settings
from workers.upkeep.letter_orders import LetterOrder, purge_on_record

Numbers = Sequence[tuple[str | None, int]]


def purge(
    older_than: Annotated[
        timedelta,
        typer.Option("--older-than", parser=read_age, metavar="AGE", help="Here for longer: days, or 4h."),
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
            companies = await tx.dead_letters.by_company(wanted)
        if not number:
            tell(await none_fit(store))
            return
        given = asked(_preview(number, codes, companies), reason, by, yes=yes)
        with bar("Removing", number) as advance:
            order = LetterOrder(given, now, wanted, number)
            purged = await purge_on_record(store, order, lambda done: advance(done, ""))
        tell(f"{counted(purged.gone, 'dead letter')} removed.")
        if purged.moved_in:
            tell(f"{counted(purged.moved_in, 'mail')} that had found no room moved in.")

    with_trail(go, settings)


def _preview(number: int, codes: Numbers, companies: Numbers) -> str:
    what = f"{counted(number, 'dead letter')} to be removed."
    return f"{what} By code: {listed(codes)}. By company: {listed(companies)}. {FOR_GOOD}"
