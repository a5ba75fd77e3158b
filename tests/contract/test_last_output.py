"""What workers of an allocation have printed is with the control plane before their agents go, however slow that is."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import pytest

from muster.backends.agents.mirrored_files import NOT_NOW, MirroredFiles
from muster.backends.allocations import allocations
from muster.backends.local.backend import LocalBackend
from muster.model.events import WorkersExited
from muster.model.ids import NodeName
from muster.model.instructions import StartWorkers
from muster.model.records import evolve
from muster.worker.output.segments import log_folder
from tests.contract.agent_server import AgentServer
from tests.contract.process_engine import ProcessEngine
from tests.unit.core.lifecycle.builders import JOB, a_gang, a_spec

DEADLINE_S = 60.0
SAID = "all of it\n"


class ClosedFiles(MirroredFiles):
    """Takes nothing until it is opened."""

    is_open = False
    asked = 0

    def take(self, node: NodeName, message: object) -> dict[str, object] | None:
        assert isinstance(message, dict)
        if self.is_open or "file" not in message:
            return super().take(node, message)
        self.asked += 1
        return {"kept": message["file"], "size": NOT_NOW}


class Place:
    """A control plane over an engine."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.server = AgentServer()
        self.engine = ProcessEngine(home, self.server.url)
        self.exited: dict[int, WorkersExited] = {}
        self.open()

    def open(self) -> None:
        """Begin, or begin again."""
        nodes = [each.node for each in self.engine.inventory()]
        self.backend = LocalBackend(self.home, nodes, engines=[self.engine])
        self.files = ClosedFiles(self.home, self.backend.has_run, self.backend.output_told)
        self.server.serve(self.home, self.backend, self.files)

    def run(self, line: str) -> None:
        spec = a_spec()
        spec = evolve(spec, roles=tuple(evolve(role, run=line) for role in spec.roles))
        gang = a_gang(2)
        self.backend.send(StartWorkers(job=JOB, attempt=1, generation=1, spec=spec, workers=gang, gang=gang))

    def hear(self) -> None:
        """Take what is reported, and keep it."""
        for event in self.backend.poll():
            if isinstance(event, WorkersExited):
                self.exited.update(dict.fromkeys(event.ranks, event))
        self.backend.acknowledge()

    def wait(self, look: Callable[[], bool], what: str) -> None:
        give_up_s = time.monotonic() + DEADLINE_S
        while not look():
            assert time.monotonic() < give_up_s, f"in vain: {what}"
            self.hear()
            time.sleep(0.01)

    def await_end(self) -> None:
        """Wait until the workers have ended, and everything about that is recorded: nothing else is waited for."""
        self.wait(lambda: set(self.exited) == {0, 1}, "both have ended")
        links = self.backend._links
        self.wait(lambda: all(link.is_told_to_end for link in links.values()), "agents may go")  # type: ignore[attr-defined]

    def await_refusals(self, more: int = 4) -> None:
        """Wait until output was offered and not taken again, or until nobody is there to offer it."""
        enough = self.files.asked + more
        self.wait(lambda: self.files.asked >= enough or not self.engine.runs, "it is offered again")

    def output(self, rank: int) -> str:
        with suppress(FileNotFoundError):
            return (log_folder(self.home, JOB, 1, rank) / "0000000000000000.log").read_text()
        return ""

    def await_gone(self) -> None:
        self.wait(lambda: not self.engine.runs, "everything has ended")
        self.wait(lambda: not list(self.home.glob("allocations/*.json")), "no allocation is remembered")

    def close(self) -> None:
        self.backend.close()
        self.server.close()
        self.engine.end()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    found = Place(tmp_path)
    yield found
    found.close()


def test_agents_wait_for_a_control_plane_that_takes_output_late(place: Place) -> None:
    place.run("echo all of it")
    place.await_end()
    place.await_refusals()  # more than one ping has passed by then
    assert place.engine.runs
    place.files.is_open = True
    place.await_gone()
    assert (place.output(0), place.output(1), place.engine.cancelled) == (SAID, SAID, [])


def test_agents_wait_for_the_next_control_plane_too(place: Place) -> None:
    place.run("echo all of it")
    place.await_end()
    place.backend.close()
    place.open()
    place.await_refusals()
    assert place.engine.runs
    place.files.is_open = True
    place.await_gone()
    assert (place.output(0), place.output(1)) == (SAID, SAID)


def test_an_agent_that_is_killed_meanwhile_has_a_successor_that_sends_it(place: Place) -> None:
    place.run("echo all of it")
    place.await_end()
    killed = place.engine.agents()
    assert len(killed) == 2
    for process in killed:
        os.kill(process, signal.SIGKILL)
    place.wait(lambda: len(set(place.engine.agents()) - set(killed)) == 2 or not place.engine.runs, "they are back")
    place.await_refusals()
    assert place.engine.runs
    place.files.is_open = True
    place.await_gone()
    assert (place.output(0), place.output(1)) == (SAID, SAID)


def test_what_does_not_arrive_in_time_is_said_where_it_is_missing(place: Place) -> None:
    with patch.object(allocations, "ALLOCATION_END_S", 0.5), patch.object(allocations, "OUTPUT_SEND_S", 0.5):
        place.run("echo all of it")
        place.await_end()
        place.await_gone()
    missing = (
        "[muster] this output is not whole: the end of it did not come from n1 before the allocation was over there"
    )
    assert missing in place.output(1)
    assert len(place.engine.cancelled) == 1
