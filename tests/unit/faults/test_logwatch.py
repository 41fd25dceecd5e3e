"""The watch on logs sees secrets wherever they are logged."""

import logging

import pytest
import structlog

from tests.support.logwatch import watching

SECRET = "Dores Xavier"
log = structlog.get_logger(__name__)
plain = logging.getLogger(__name__)


def test_it_sees_what_structlog_and_the_standard_library_log() -> None:
    with watching(SECRET) as watch:
        log.info("harmless", patient="somebody")
        log.debug("told", patient=SECRET)
        plain.debug("told %s", SECRET)
    assert len(watch.leaks) == 2
    assert watch.events["harmless"] == 1


@pytest.mark.parametrize("given", ["true", "error"])
def test_it_reads_tracebacks(given: str) -> None:
    with watching(SECRET) as watch:
        try:
            int(SECRET)
        except ValueError as error:
            log.error("failed", exc_info=True if given == "true" else error)  # noqa: TRY400
            plain.exception("failed")
    assert len(watch.leaks) == 2


def test_it_leaves_the_logs_as_it_found_them() -> None:
    before = list(structlog.get_config()["processors"])
    with watching(SECRET):
        pass
    assert structlog.get_config()["processors"] == before
