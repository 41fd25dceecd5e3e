"""The broker's log can be read from its end, followed, and cleared of stack frames."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from gateways.zeebe.engine import EngineConfig, log_tail
from gateways.zeebe.engine.logs import last_messages, news_of, write_log_settings


@pytest.fixture
def logged(config: EngineConfig) -> EngineConfig:
    config.log_file.parent.mkdir(parents=True)
    config.log_file.write_text("".join(f"line {n}\n" for n in range(100)))
    return config


def test_the_tail_is_the_last_lines_in_order(logged: EngineConfig) -> None:
    assert log_tail(logged, 2) == ["line 98", "line 99"]


def test_an_engine_that_never_ran_has_no_log(config: EngineConfig) -> None:
    assert log_tail(config, 10) == []


def test_last_messages_leave_out_stack_frames(logged: EngineConfig) -> None:
    with logged.log_file.open("a") as log:
        log.write("ERROR it broke\n" + "\tat java.base/Frame.run(Frame.java:1)\n" * 40 + "\t... 7 more\n")
    assert last_messages(logged.log_file)[-2:] == ["line 99", "ERROR it broke"]


def test_following_gives_new_lines_whole_also_after_a_roll_over(logged: EngineConfig) -> None:
    lines = news_of(logged.log_file)
    with logged.log_file.open("a") as log:
        log.write("one\ntw")
        log.flush()
        assert next(lines) == "one"
        log.write("o\n")
    assert next(lines) == "two"
    logged.log_file.rename(logged.log_file.with_name("broker.1.log"))
    logged.log_file.write_text("three\n")
    assert next(lines) == "three"


def test_log_settings_survive_odd_paths(config: EngineConfig) -> None:
    odd = replace(config, home=config.home.with_name('R&D "home" <1>'))
    write_log_settings(odd)
    appender = ElementTree.parse(odd.log_settings_file).find(".//RollingFile")  # noqa: S314
    assert appender is not None
    assert appender.get("fileName") == str(odd.log_file)
