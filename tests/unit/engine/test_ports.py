"""Ports are the preferred ones, else free ones, else somebody is named who holds them."""

import os
import socket
from dataclasses import astuple, replace

import pytest

from gateways.zeebe.engine import EngineError, FixedPorts
from gateways.zeebe.engine.ports import Ports, choose_ports, holder_of, is_free


@pytest.fixture
def wishes() -> Ports:
    """Five ports that are free now."""
    return choose_ports(FixedPorts(), None)


def test_preferred_ports_are_taken_when_free(wishes: Ports) -> None:
    assert choose_ports(FixedPorts(), wishes) == wishes


def test_a_busy_preferred_port_is_replaced_by_a_free_one(wishes: Ports) -> None:
    with socket.create_server(("127.0.0.1", wishes.rest)):
        chosen = choose_ports(FixedPorts(), wishes)
    assert chosen.rest != wishes.rest
    assert replace(chosen, rest=wishes.rest) == wishes


def test_a_port_asked_for_is_used_and_given_to_nobody_else(wishes: Ports) -> None:
    chosen = choose_ports(FixedPorts(internal=wishes.grpc), wishes)
    assert chosen.internal == wishes.grpc
    assert len(set(astuple(chosen))) == 5


def test_a_busy_port_asked_for_names_its_holder_and_the_way_out(wishes: Ports) -> None:
    with socket.create_server(("127.0.0.1", wishes.grpc)), pytest.raises(EngineError) as refused:
        choose_ports(FixedPorts(grpc=wishes.grpc), None)
    advice = str(refused.value)
    assert f"Port {wishes.grpc} is held by" in advice
    assert f"(process {os.getpid()})" in advice
    assert "ENGINE_GRPC_PORT" in advice
    assert "\n" not in advice


def test_a_listener_on_all_addresses_makes_a_port_busy(wishes: Ports) -> None:
    with socket.create_server(("0.0.0.0", wishes.grpc)):  # noqa: S104
        assert not is_free(wishes.grpc)


def test_a_holder_that_is_gone_is_no_crash(wishes: Ports) -> None:
    assert holder_of(wishes.grpc) == "another user's process"
