"""Scrapes at the same time: each is whole, and none waits for other work or keeps it waiting."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import httpx
import pytest
from opentelemetry.exporter import prometheus as exporter

from workers.app.probes import probe_routes, serving_probes
from workers.app.telemetry.metrics import ProcessMetrics
from workers.app.telemetry.resource import resource

AT_ONCE = 4


def test_scrapes_at_the_same_time_each_show_every_series_once(monkeypatch: pytest.MonkeyPatch) -> None:
    handed_over: Callable[..., None] = exporter._CustomCollector.add_metrics_data

    def and_another_thread_runs(*given: object) -> None:
        handed_over(*given)
        time.sleep(0.01)

    monkeypatch.setattr(exporter._CustomCollector, "add_metrics_data", and_another_thread_runs)
    metrics = ProcessMetrics(resource())
    metrics.counters.begin("dlq_entries_total", [()])
    with ThreadPoolExecutor(AT_ONCE) as threads:
        shown = list(threads.map(lambda _number: metrics.exposition(), range(5 * AT_ONCE)))
    assert {text.count(b"\ndlq_entries_total 0.0\n") for text in shown} == {1}


async def scraped_while_busy() -> str:
    """A scrape while the one thread of the loop's own pool waits for something else."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    over, routes = Event(), probe_routes([], [], lambda: b"a 1")
    busy = asyncio.create_task(asyncio.to_thread(over.wait))
    try:
        async with serving_probes(routes, "127.0.0.1", 0) as port, httpx.AsyncClient(timeout=5) as client:
            return (await client.get(f"http://127.0.0.1:{port}/metrics")).text
    finally:
        over.set()
        await busy


def test_a_scrape_is_answered_while_all_threads_for_other_work_are_busy() -> None:
    assert asyncio.run(scraped_while_busy()) == "a 1"
