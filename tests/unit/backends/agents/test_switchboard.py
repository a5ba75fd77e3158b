"""Agents that connect, and further connections that they are asked for."""

import socket
import threading
from collections.abc import Iterator

import pytest

from muster.backends.agents.switchboard import ConnectedAgent, Switchboard
from muster.model.errors import NotFound
from muster.model.ids import NodeName

NODE, OTHER = NodeName("gpu1"), NodeName("gpu2")


Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def here() -> Iterator[Pair]:
    one, other = socket.socketpair()
    with one, other:
        yield one, other


def test_an_agent_that_is_asked_answers_with_a_connection(here: Pair) -> None:
    board = Switchboard()
    board.on_connected = lambda _: None

    def ask(number: str) -> None:
        assert not board.answered(OTHER, number, here[1])  # no other node can answer in its place
        threading.Thread(target=board.answered, args=(NODE, number, here[0])).start()

    board.connected(ConnectedAgent(node=NODE, channel=here[0], address="127.0.0.1"), ask)
    assert board.dial(NODE, timeout_s=10) is here[0]


def test_nobody_waits_for_an_agent_that_is_not_there_or_does_not_answer(here: Pair) -> None:
    board = Switchboard()
    board.on_connected = lambda _: None
    asked: list[str] = []
    with pytest.raises(NotFound, match="is not connected"):
        board.dial(NODE)
    board.connected(ConnectedAgent(node=NODE, channel=here[0], address=""), asked.append)
    with pytest.raises(NotFound, match="does not answer"):
        board.dial(NODE, timeout_s=0.01)
    assert not board.answered(NODE, asked[0], here[0])


def test_the_end_of_an_older_connection_does_not_take_away_the_newer_one(here: Pair) -> None:
    board = Switchboard()
    board.on_connected = lambda _: None
    old, new = list[str](), list[str]()
    ask_old, ask_new = old.append, new.append
    board.connected(ConnectedAgent(node=NODE, channel=here[0], address=""), ask_old)
    board.connected(ConnectedAgent(node=NODE, channel=here[1], address=""), ask_new)
    board.disconnected(NODE, ask_old)
    with pytest.raises(NotFound, match="does not answer"):
        board.dial(NODE, timeout_s=0.01)
    assert (len(old), len(new)) == (0, 1)


def test_an_agent_that_comes_before_anybody_takes_it_is_hung_up_on(here: Pair) -> None:
    Switchboard().connected(ConnectedAgent(node=NODE, channel=here[0], address=""), lambda _: None)
    assert here[1].recv(1) == b""
