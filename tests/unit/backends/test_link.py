"""The way to one node: what it waits for and how long, what it believes, and what it does when nothing comes."""

import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from muster.backends.local import link as link_module
from muster.backends.local import local_link, starting, sweeping
from muster.backends.local.backlog import Backlog
from muster.backends.local.handshake import found_gangs
from muster.backends.local.link import Link, Listener
from muster.backends.local.local_link import LocalLink
from muster.backends.local.silence_limit import SilenceLimit
from muster.model.errors import NotFound
from muster.model.machines.ownership import Leadership
from muster.model.node_limits import SUPERVISOR_LINE_BYTES
from muster.processes import entry
from muster.worker.loop import Loop
from muster.worker.messages import PROTOCOL, PROTOCOL_OLDEST
from muster.worker.service import Conversation, Message
from muster.worker.supervisor_address import SupervisorAddress
from tests.local.machine import a_node

DEADLINE_S = 10.0


class Node:
    """A link in a loop of its own, and whatever it says; the supervisor is this test."""

    def __init__(self, home: Path, patched: pytest.MonkeyPatch) -> None:
        self.loop = Loop(settle=self._settle)
        self.said: list[str] = []
        self.heard: list[Message] = []
        self.connections: list[Conversation] = []
        self.met: Callable[[Conversation, Message], object] = lambda connection, _: connection.close()
        self._until_s = 0.0
        self._is_done: Callable[[], bool] = lambda: False
        listener = Listener(
            greeted=lambda _, hello: self.said.append(f"greeted {len(hello['alive'])}"),
            heard=lambda _, message: self.heard.append(message),
            lost=lambda _, because: self.said.append(because),
            swept=lambda _: self.said.append("swept"),
            refused=lambda _, because: self.said.append(because),
        )
        found = entry(os.getpid())
        assert found is not None
        here = SupervisorAddress(pid=found.pid, start_ticks=found.start_ticks, token="t")
        patched.setattr(local_link, "supervisor_address", lambda _: here)
        patched.setattr(local_link, "reach", lambda _: self._pair())
        patched.setattr(signal, "pidfd_send_signal", lambda *_: self.said.append("killed"))
        (home / "nodes" / "n1").mkdir(parents=True)
        self.link = LocalLink(home, a_node(), self.loop, listener, Leadership())

    def _pair(self) -> socket.socket:
        one, other = socket.socketpair()
        self.connections.append(Conversation(other, self.loop, hear=self._meet))
        return one

    def _meet(self, connection: Conversation, message: Message) -> None:
        self.met(connection, message)

    def _settle(self) -> None:
        self.link.flush()
        for connection in self.connections:
            connection.flush()
        if self._is_done() or time.monotonic() > self._until_s:
            self.loop.stop()

    def run(self, until: Callable[[], bool]) -> None:
        """Let it go on until something is so."""
        self._until_s = time.monotonic() + DEADLINE_S
        self._is_done = until

        def tick() -> None:
            self.loop.after(5, tick)

        tick()
        self.loop._is_stopped = False
        self.loop.run()
        assert until(), self.said

    def close(self) -> None:
        self.link.close()
        for connection in self.connections:
            connection.close()
        self.loop.close()


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    node = Node(tmp_path, monkeypatch)
    yield node
    node.close()


def hello(protocol: object = PROTOCOL, **more: object) -> Message:
    return {"hello": {"protocol": protocol, "gangs": [], **more}}


def answering(greeting: Message) -> Callable[[Conversation, Message], object]:
    """Say this when a token is shown, and nothing else."""

    def met(connection: Conversation, message: Message) -> None:
        if "token" in message:
            connection.say(greeting)

    return met


def test_however_long_this_process_stood_still_is_one_round() -> None:
    patience = SilenceLimit(wait_ms=60_000, round_ms=1_500)
    assert not any(patience.pass_round() for _ in range(40))
    assert patience.pass_round()
    patience.heard()
    assert not patience.pass_round()
    assert not SilenceLimit(wait_ms=1, round_ms=1_000).pass_round()


def test_a_supervisor_that_ends_every_connection_before_it_has_greeted_cannot_be_reached(node: Node) -> None:
    node.link.open()
    node.run(lambda: bool(node.said))
    assert node.said == ["connections to its supervisor end before it has greeted"]
    assert link_module.UNGREETED < len(node.connections) <= link_module.UNGREETED + 2


def test_a_greeting_comes_in_pieces_of_any_number(node: Node) -> None:
    spec = {"run": "x" * (SUPERVISOR_LINE_BYTES // 4)}

    def greet(connection: Conversation, message: Message) -> None:
        if "token" in message:
            assert message["protocol"] == PROTOCOL
            connection.say(hello())
            for number in range(6):
                connection.say({"alive": {"job": f"job-{number}", "spec": spec}})
            connection.say({"greeted": True})

    node.met = greet
    node.link.open()
    node.run(lambda: bool(node.said))
    assert node.said == ["greeted 6"]
    assert node.link.is_up


def test_a_supervisor_of_the_last_release_says_all_at_once(node: Node) -> None:
    node.met = answering(hello(PROTOCOL_OLDEST, alive=[{}, {}]))
    node.link.open()
    node.run(lambda: bool(node.said))
    assert node.said == ["greeted 2"]


@pytest.mark.parametrize("protocol", [1, PROTOCOL + 1, None])
def test_a_supervisor_of_another_protocol_is_refused_for_its_node_alone(node: Node, protocol: int | None) -> None:
    node.met = answering(hello(protocol))
    node.link.open()
    node.run(lambda: bool(node.said))
    assert f"speaks protocol {protocol}" in node.said[0]
    assert "killed" not in node.said
    assert not node.link.is_up


def test_a_link_that_fails_while_it_is_greeted_is_opened_again(node: Node) -> None:
    node.met = answering(hello(alive=[]))
    node.link._listener = breaking_once(node)
    node.link.open()
    node.run(lambda: len(node.said) == 2)
    assert node.said == ["broken", "greeted 0"]
    assert node.link.is_up


def test_a_greeting_that_makes_no_sense_is_a_fault_of_its_node(node: Node) -> None:
    known = node.link._listener

    def greeted(link: Link, said: Message) -> None:
        found_gangs(link.node.name, said, 0)

    node.link._listener = Listener(
        greeted=greeted, heard=known.heard, lost=known.lost, swept=known.swept, refused=known.refused
    )
    node.met = answering(hello(alive=[{"attempt": "?"}]))
    node.link.open()
    node.run(lambda: bool(node.said))
    assert node.said == ["connections to its supervisor end before it has greeted"]


def breaking_once(node: Node) -> Listener:
    """Breaks the connection with the first greeting."""
    known = node.link._listener

    def greeted(link: Link, said: Message) -> None:
        if not node.said:
            node.said.append("broken")
            assert link._connection is not None
            link._connection.close()
        else:
            known.greeted(link, said)

    return Listener(greeted=greeted, heard=known.heard, lost=known.lost, swept=known.swept, refused=known.refused)


def test_more_commands_than_the_other_side_takes_at_once_are_told_piece_by_piece(node: Node) -> None:
    taken: list[int] = []

    def take(connection: Conversation, message: Message) -> None:
        if "token" in message:
            connection.say(hello(alive=[]))
        elif "do" in message:
            taken.append(message["do"])
            connection.say({"done": message["do"]})

    node.met = take
    for _ in range(90):
        node.link.command({"command": "x" * (1 << 20)})  # more than a connection keeps
    node.link.open()
    node.run(lambda: len(taken) == 90 and not node.link._backlog)
    assert taken == list(range(1, 91))
    assert node.said == ["greeted 0"]


def test_a_link_that_is_held_hears_no_reports_and_does_not_give_its_supervisor_up(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_module, "CONTROL_PING_MS", 5)
    monkeypatch.setattr(link_module, "SUPERVISOR_SILENCE_MS", 20)
    pings: list[Message] = []

    def answer(connection: Conversation, message: Message) -> None:
        if "token" in message:
            connection.say(hello(alive=[]))
        else:
            pings.append(message)
            connection.say({"pong": 0})
            connection.say({"report": len(pings)})

    node.met = answer
    node.link.open()
    node.run(lambda: bool(node.heard))
    node.link.hold(True)
    count = len(node.heard)
    node.run(lambda: len(pings) > 50)
    assert len(node.heard) == count
    node.link.hold(False)
    node.run(lambda: len(node.heard) > 50)
    assert node.said == ["greeted 0"]
    assert pings[0] == {"ping": 0, "decides": True, "next_ms": 5}


def test_a_supervisor_that_answers_nothing_is_ended(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "CONTROL_PING_MS", 5)
    monkeypatch.setattr(link_module, "SUPERVISOR_SILENCE_MS", 20)
    node.met = answering(hello(alive=[]))
    node.link.open()
    node.run(lambda: "killed" in node.said)
    assert node.said[:3] == ["greeted 0", "killed", "its supervisor does not answer"]


def test_a_start_that_hangs_is_given_up_and_so_is_waiting_for_it(
    node: Node, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(local_link, "supervisor_address", lambda _: None)
    monkeypatch.setattr(local_link, "SUPERVISOR_START_MS", 20)
    monkeypatch.setattr(local_link, "SUPERVISOR_HELLO_MS", 20)
    monkeypatch.setattr(starting, "SUPERVISOR_START_MS", 20)
    started: list[subprocess.Popen[bytes]] = []

    def hang(*_: object) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]))
        return started[-1]

    monkeypatch.setattr(starting, "_launched", hang)
    node.link.open()
    node.run(lambda: bool(node.said))
    assert node.said == ["its supervisor hangs while it is started"]
    assert started[0].returncode == -9
    node.run(lambda: len(started) > 1)
    node.link.close()
    assert started[-1].returncode == -9


@pytest.mark.parametrize("problem", [OSError("the disk is gone"), NotFound("a bug")])
def test_a_sweep_that_fails_is_logged_and_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, problem: Exception
) -> None:
    def fail(_: Path) -> tuple[str, ...]:
        raise problem

    monkeypatch.setattr(sweeping, "sweep", fail)
    heard: list[bool] = []
    loop = Loop(settle=lambda: None)

    def finished(is_clean: bool) -> None:
        heard.append(is_clean)
        loop.stop()

    with caplog.at_level(logging.WARNING):
        sweeping.Sweeping(tmp_path, loop, finished)
        loop.after(1000 * DEADLINE_S, loop.stop)
        loop.run()
    loop.close()
    assert heard == [False]
    assert "could not be swept" in caplog.text


def test_a_backlog_is_said_again_on_a_new_connection_as_far_as_it_was_not_acknowledged() -> None:
    backlog, said = Backlog(), list[Any]()
    for name in "abc":
        backlog.add({"command": name})
    while (message := backlog.next()) is not None:
        said.append(message["command"])
    backlog.done(1)
    backlog.begin_again()
    backlog.add({"command": "d"})
    while (message := backlog.next()) is not None:
        said.append(message["command"])
    assert (said, len(backlog)) == (["a", "b", "c", "b", "c", "d"], 3)
    backlog.clear()
    assert (backlog.next(), len(backlog)) == (None, 0)
