"""The soak tells what the C library holds, and whether a job was lost or doubled."""

import argparse
import ctypes
import math

import pytest
from rich.console import Console

from tests.bench.soak.__main__ import SoakVerdict, run
from tests.bench.soak.heap import heap_bytes

PIECE, PIECES = 50_000, 40


def test_memory_taken_outside_of_python_is_seen() -> None:
    if (before := heap_bytes()) is None:
        pytest.skip("not this C library")
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)
    taken = [libc.malloc(PIECE) for _ in range(PIECES)]
    after = heap_bytes()
    for piece in taken:
        libc.free(piece)
    assert after is not None
    assert after["used"] - before["used"] >= PIECE * PIECES


@pytest.mark.parametrize("wrong", [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
def test_a_soak_that_loses_forgets_or_doubles_a_job_is_not_well(wrong: tuple[int, int, int]) -> None:
    assert SoakVerdict(0, 0, 0).is_well
    assert not SoakVerdict(*wrong).is_well


async def test_a_soak_of_moments_decides_every_job_once() -> None:
    given = argparse.Namespace(
        minutes=0.05, every=0.05, rate=math.inf, database="sqlite", calm=False, trace=True, seed=1
    )
    console = Console(width=130, record=True)
    assert (await run(given, console)).is_well
    told = console.export_text()
    assert "decisions on sqlite" in told
    assert "resident MB" in told
