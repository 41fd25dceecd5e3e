"""The arithmetic of the whole way: what falls to one claim, who plays when, how a database is filled."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from sqlalchemy import Column, Integer, UniqueConstraint

from domain.payer_status import PayerLimits
from persistence.database.engine import sqlite_url
from persistence.tables import metadata
from tests.bench.cores import cpu_seconds, pin
from tests.bench.whole import filling, profiling
from tests.bench.whole.__main__ import main, turns
from tests.bench.whole.before import unpack
from tests.bench.whole.held import HeldClaim, as_held, comebacks
from tests.bench.whole.meter import Meter, between, per_claim
from tests.bench.whole.options import WholeOptions, read_options
from tests.bench.whole.program import ROOT, WATCHER, Program, ProgramError
from tests.bench.whole.report import as_json, cell, held_table, ratios, ways_table
from tests.bench.whole.rounds import Pace, between_moments
from tests.bench.whole.said import said_in
from tests.bench.whole.watched import COUNTED, blank, cells, read_counts
from tests.bench.whole.way import ROWS, Entrant, Way

NOW = datetime(2026, 1, 12, 10, 40, tzinfo=UTC)


def way(contender: str = "reenvio", pace: float = 50, database: str = "sqlite") -> Way:
    return Way(
        entrant=Entrant(contender),
        database=database,
        claims=100,
        claims_per_second=pace,
        worker_ms=9,
        broker_ms=8,
        payer_ms=2,
        commits=0.5,
        looks=1.5,
        http_calls=1,
        payer_requests=1,
        warnings=0,
    )


def printed(*shown: object, width: int = 100) -> str:
    console = Console(width=width, highlight=False)
    with console.capture() as capture:
        console.print(*shown)
    return capture.get()


def test_what_was_spent_before_the_first_job_is_nobody_s() -> None:
    before, after = {"worker_ms": 1500.0, "commits": 7.0}, {"worker_ms": 2500.0, "commits": 207.0}
    assert per_claim(between(before, after), 100) == {"worker_ms": 10.0, "commits": 2.0}


def test_a_delay_runs_from_the_file_s_own_moment_to_its_protocol() -> None:
    began = {7: NOW, 8: NOW + timedelta(seconds=1)}
    ended = {8: NOW + timedelta(seconds=1.5), 7: NOW + timedelta(seconds=2)}
    assert between_moments(began, ended) == [2.0, 0.5]


def test_a_held_claim_comes_back_nine_times_on_the_first_day_and_twice_on_every_later_one() -> None:
    assert comebacks(PayerLimits(), 4) == [9, 2, 2, 2]


def test_what_a_day_costs_is_one_comeback_as_often_as_it_comes() -> None:
    one = as_held("sqlite", 100, {"worker_ms": 400.0, "broker_ms": 800.0, "commits": 50.0}, jobs=100)
    assert one.times(9) == {"worker_ms": 36.0, "broker_ms": 72.0, "commits": 4.5, "jobs": 9.0}


def test_claims_that_came_back_twice_share_what_was_spent() -> None:
    one = as_held("sqlite", 100, {"worker_ms": 400.0, "broker_ms": 800.0, "commits": 50.0}, jobs=200)
    assert (one.worker_ms, one.jobs) == (2.0, 2.0)


@settings(deadline=None)
@given(have=st.integers(1, 500), size=st.integers(0, 200_000))
def test_doublings_reach_the_size_and_never_copy_more_than_there_is(have: int, size: int) -> None:
    grown = have
    for number, step in enumerate(filling.doublings(have, size), 1):
        assert step.place == number
        assert 0 < step.claims <= grown
        grown += step.claims
    assert grown == max(have, size)


@pytest.fixture
def seeded(tmp_path: Path) -> Path:
    file = tmp_path / "bench.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(
            """
            CREATE TABLE claims (claim_id VARCHAR PRIMARY KEY, batch_number VARCHAR, created_at DATETIME);
            CREATE TABLE notes (id INTEGER PRIMARY KEY, claim_id VARCHAR, note VARCHAR);
            INSERT INTO claims VALUES ('CLM-999999-1', '000000000001', '2026-01-12 10:00:00.000000'),
                ('CLM-999999-2', '000000000002', '2026-01-12 10:00:00.000000'),
                ('CLM-999999-3', '000000000003', '2026-01-12 10:00:00.000000');
            INSERT INTO notes (claim_id, note) SELECT claim_id, 'a' FROM claims;
            INSERT INTO notes (claim_id, note) SELECT claim_id, 'b' FROM claims;
            """
        )
        connection.commit()
    return file


async def test_a_filled_database_has_exactly_so_many_claims_each_with_its_rows_and_a_name_of_its_own(
    seeded: Path,
) -> None:
    await filling.grow(sqlite_url(seeded), ("notes", "claims"), filling.doublings(3, 100))
    with closing(sqlite3.connect(seeded)) as connection:
        [(claims, batches)] = connection.execute(
            "SELECT count(DISTINCT claim_id), count(DISTINCT batch_number) FROM claims"
        ).fetchall()
        lonely = connection.execute(
            "SELECT claim_id FROM claims WHERE (SELECT count(*) FROM notes n "
            "WHERE n.claim_id = claims.claim_id) <> 2"
        ).fetchall()
        [(oldest,)] = connection.execute("SELECT min(created_at) FROM claims").fetchall()
    assert (claims, batches, lonely) == (100, 100, [])
    assert oldest < "2026-01-12 09:00:00"


@pytest.mark.parametrize("name", filling.OF_FINISHED)
def test_a_copy_differs_in_everything_that_a_table_wants_to_be_unique(name: str) -> None:
    table = metadata.tables[name]
    constraints = [one for one in table.constraints if isinstance(one, UniqueConstraint)]
    indexes = [index for index in table.indexes if index.unique]
    keys = [list(one.columns) for one in (table.primary_key, *constraints)]
    keys += [list(index.columns) for index in indexes]
    counted = [key for key in keys if [isinstance(column.type, Integer) for column in key] == [True]]
    assert [key for key in keys if key not in counted and not names_of(key)] == []


def names_of(key: list[Column[Any]]) -> set[str]:
    return {column.name for column in key} & filling.NAMES.keys()


def test_everybody_plays_on_every_database_in_each_round_and_the_next_one_begins() -> None:
    options = read_options(["--rounds", "2", "--before", "HEAD", "--stored", "1000", "--waiting", "50"])
    order = list(turns(options))
    assert [str(entrant) for _, kind, entrant in order[:7] if kind == "sqlite"] == [
        *("reenvio", "plain", "before", "reenvio, 1,000 stored", "before, 1,000 stored"),
        *("reenvio, 50 waiting", "before, 50 waiting"),
    ]
    assert str(order[14][2]) == "plain"
    assert len(order) == 2 * 2 * 7


def test_the_plain_program_has_no_filled_database() -> None:
    entrants = read_options(["--stored", "1000", "10000"]).entrants()
    assert not [one for one in entrants if one.contender == "plain" and one.is_filled]


def test_the_options_say_how_long_and_how_fast_single_files_come() -> None:
    assert read_options([]).pace is None
    assert read_options(["--latency"]).pace == Pace(100, 5.0)
    assert read_options(["--latency", "20", "--per-second", "2"]).pace == Pace(20, 2.0)


@pytest.mark.parametrize("nothing", ["0", "-1", "nan", "inf"])
def test_files_that_never_come_have_no_pace(nothing: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read_options(["--latency", "--per-second", nothing])
    assert "--per-second" in capsys.readouterr().err


def test_a_revision_that_nobody_knows_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--before", "no-such-revision"]) == 1
    assert "no-such-revision" in capsys.readouterr().out


def test_a_cluster_s_clock_cannot_be_moved_so_nothing_is_held_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        read_options(["--held", "--cluster"])
    assert "--cluster" in capsys.readouterr().err


def test_ours_is_held_against_the_others_on_the_same_database_and_never_on_a_filled_one() -> None:
    filled = replace(way(pace=1), entrant=Entrant("reenvio", stored=1000))
    found = ratios([way(pace=40), way("plain", 80), way("before", 10), filled, way("plain", 1, "postgresql")])
    assert found == ["sqlite: 0.50 of the plain program's pace (aim: 0.5)", "sqlite: 4.00 of the pace before"]


def test_a_figure_that_nobody_could_take_is_a_dash_and_a_row_of_dashes_is_left_out() -> None:
    assert cell([way()], "p50_ms") == "-"
    table = printed(ways_table("sqlite", [way(), way("plain")]))
    assert "p50" not in table
    assert "claims/s" in table


def test_a_table_of_three_contenders_fits_a_hundred_columns() -> None:
    ways = [way(name, pace) for name in ("reenvio", "plain", "before (1234567)") for pace in (50.5, 60.1)]
    lines = printed(ways_table("sqlite", ways)).splitlines()
    row = next(line for line in lines if "claims/s" in line)
    assert row.count("55.3 (50.5-60.1)") == 3
    assert max(map(len, lines)) <= 100


def test_the_held_table_says_how_often_and_how_much() -> None:
    one = HeldClaim("sqlite", 100, worker_ms=4, broker_ms=8, commits=0.5, jobs=1)
    shown = printed(held_table([one]))
    assert "9 times on the first day, 2 times" in " ".join(shown.split())
    assert [word for word in ("36", "4.5", "8") if word not in shown] == []


def test_the_file_for_programs_has_every_round() -> None:
    options: WholeOptions = read_options(["--json", "x.json", "--latency"])
    assert as_json(options, [way(), way("plain")], []).count('"claims_per_second"') == 2


def test_every_figure_of_a_table_is_one_of_a_way() -> None:
    assert set(ROWS.values()) <= set(Way.__dataclass_fields__)


def test_the_bench_sees_why_jobs_were_put_off_and_takes_no_quiet_word_for_a_warning() -> None:
    why = "submit-claim: The database does not answer (OperationalError)"
    under_way = "A send of {} is under way: its answer decides."
    entries = [
        *({"event": "job_postponed", "level": "info", "why": why} for _ in range(2)),
        *(
            {"event": "job_postponed", "level": "info", "why": under_way.format(f"CLM-1-{n}")}
            for n in (1, 2, 3)
        ),
        {"event": "claim_sent", "level": "info"},
        {"event": "loop_blocked", "level": "warning"},
    ]
    said = said_in([*map(json.dumps, entries), "Traceback (most recent call last):"])
    assert (said.warnings, said.warned_of) == (2, ("Traceback (most recent call last):", "loop_blocked"))
    assert said.postponed == ((under_way.format("..."), 3), (why, 2))
    assert said.postponements == 5
    assert f"job_postponed 2 x ({why})" in str(said)
    shown = printed(ways_table("sqlite", [replace(way(), postponed=0.05, sent_round=1.25)]))
    assert [
        word for word in ("sent round per claim", "1.25", "jobs postponed", "0.05") if word not in shown
    ] == []


def test_the_options_say_how_many_places_the_payer_has_and_how_many_workers_there_are(tmp_path: Path) -> None:
    assert (read_options([]).at_once, read_options([]).workers) == (32, 1)
    options = read_options(["--at-once", "4", "--workers", "2"])
    assert (options.at_once, options.workers) == (4, 2)
    program = Program("p", (), {}, tmp_path / "work-1.log", counts=tmp_path / "counts-1")
    other = program.another(1)
    assert len({program.log, program.counts, other.log, other.counts}) == 4


def test_what_several_workers_spend_and_count_is_counted_together(tmp_path: Path) -> None:
    counts = [tmp_path / "one", tmp_path / "two"]
    for number, file in enumerate(counts, 1):
        blank(file)
        cells(file)[0] = number
    own = os.getpid()
    found = Meter({own: counts[0], os.getppid(): counts[1]}, own, own, None).read()
    assert found["commits"] == 3
    assert found["worker_ms"] >= found["broker_ms"]


COUNTED_PROGRAM = """
import asyncio, os, signal, sys
import httpx
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

def busy():
    return sum(range(1000))

async def main():
    engine = create_async_engine("sqlite+aiosqlite://")
    for _ in range(3):
        async with engine.begin() as connection:
            await connection.execute(text("SELECT 1"))
    async with engine.connect() as opened:
        connection = await opened.execution_options(reenvio_read_only=True)
        async with connection.begin():
            await connection.execute(text("SELECT 1"))
    await engine.dispose()
    async with httpx.AsyncClient(trust_env=False) as http:
        try:
            await http.get("http://127.0.0.1:1/")
        except httpx.ConnectError:
            pass
    os.kill(os.getpid(), signal.SIGUSR1)
    busy()
    print(sys.argv[1])

asyncio.run(main())
"""


@pytest.fixture
def watched_program(tmp_path: Path) -> Program:
    (tmp_path / "counted_program.py").write_text(COUNTED_PROGRAM, encoding="utf-8")
    program = Program("counted_program", ["word"], {}, tmp_path / "log", tmp_path)
    return replace(program, counts=tmp_path / "counts", profile=tmp_path / "profile")


async def test_a_watched_program_of_any_folder_is_counted_and_profiled(watched_program: Program) -> None:
    await watched_program.run()
    assert watched_program.counts
    assert watched_program.profile
    assert read_counts(watched_program.counts) == {"commits": 3, "looks": 1, "http_calls": 1}
    assert watched_program.lines() == ["word"]
    assert any(spot.place.endswith(" busy") for spot in profiling.spots(watched_program.profile))


async def test_a_program_that_fails_says_its_last_words(tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text("raise SystemExit('no payer')", encoding="utf-8")
    program = Program("failing", ["now"], {}, tmp_path / "log", tmp_path, counts=tmp_path / "counts")
    with pytest.raises(ProgramError, match="failing now: no payer"):
        await program.run()


def test_the_watcher_knows_nothing_of_ours_so_that_it_can_watch_any_revision() -> None:
    program = f"import runpy, sys; runpy.run_path({str(WATCHER)!r}); print(*sys.modules)"
    loaded = subprocess.run(
        (sys.executable, "-c", program), capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.split()
    ours = ("bpmn", "domain", "gateways", "persistence", "workers", "tests")
    assert [name for name in loaded if name.partition(".")[0] in ours] == []
    assert len(COUNTED) == 3


def used_by_children() -> float:
    return os.times().children_user


def test_time_of_a_child_that_has_ended_counts() -> None:
    before, children = cpu_seconds(os.getpid()), used_by_children()
    subprocess.run((sys.executable, "-c", "sum(range(10_000_000))"), check=True)
    used = used_by_children() - children
    assert used > 0
    assert cpu_seconds(os.getpid()) - before > used * 0.99  # ticks of the clock are no exact fractions


THREADS = """
import sys, threading
threading.Thread(target=sys.stdin.read).start()
print("ready", flush=True)
"""


def test_every_thread_of_a_pinned_process_stays_on_its_core() -> None:
    core = min(os.sched_getaffinity(0))
    command = (sys.executable, "-c", THREADS)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        pin(process.pid, [core])
        threads = psutil.Process(process.pid).threads()
        assert len(threads) == 2
        assert [os.sched_getaffinity(thread.id) for thread in threads] == [{core}, {core}]
        process.communicate(b"")


def test_another_revision_is_unpacked_whole(tmp_path: Path) -> None:
    name = unpack("HEAD", tmp_path)
    assert name
    assert (tmp_path / "workers" / "cli" / "__main__.py").is_file()
    with pytest.raises(ProgramError, match="rev-parse"):
        unpack("no-such-revision", tmp_path)


def test_a_profile_names_a_function_by_the_end_of_its_path() -> None:
    assert profiling.place("/a/b/c/d.py", 7, "f") == "b/c/d.py:7 f"
    assert profiling.place("~", 0, "<built-in method abs>") == "<built-in method abs>"
