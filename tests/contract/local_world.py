"""The local backend as a world that a test can move: real processes that live by a script.

Real time is not virtual time, so a shadow, the fake backend, is moved with the real one. It tells the real processes
when to end, and how many reports there are to wait for. Reports are stamped with the shadow's time, and those of
different nodes are put in its order, because no order is promised. What they say is the real backend's.
"""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from muster.backends.fake import FakeBackend, GangScript
from muster.backends.local.backend import LocalBackend
from muster.model.events import GangsFound, NodeLost, NodeUnreachable, ObservedEvent, RuntimeFound, WorkersExited
from muster.model.ids import JobId, NodeName
from muster.model.instructions import Command, StartWorkers
from muster.model.node import Node
from muster.model.records import evolve
from muster.model.spec import JobSpec
from muster.worker.launch.runtime_folder import runtime_folder
from muster.worker.supervisor_address import supervisor_address

DEADLINE_S = 60.0

UNSHADOWED = (NodeUnreachable, GangsFound, RuntimeFound)
"""What a real node says besides: that it cannot be reached before it is swept, what it runs when it is greeted, and
which container runtime it has."""

LIVES = """
{trap}
touch {folder}/$MUSTER_ATTEMPT-$MUSTER_RANK.ready
until [ -e {folder}/$MUSTER_ATTEMPT-$MUSTER_RANK.end ]; do sleep 0.01; done
exit $(cat {folder}/$MUSTER_ATTEMPT-$MUSTER_RANK.end)
"""


class LocalWorld:
    """Runs scripted gangs as real processes on two nodes."""

    unshadowed: tuple[type, ...] = UNSHADOWED

    def __init__(self, home: Path) -> None:
        self._home = home
        self._folder = home / "scripts"
        self._folder.mkdir()
        self._shadow = FakeBackend()
        self._scripts: dict[JobId, tuple[GangScript, ...]] = {}
        self._blocked: list[Path] = []
        self._expected: list[ObservedEvent] = []
        self._real = self._backend(home)
        self._wait(self._is_up)

    def _is_up(self) -> bool:
        return len(self._real.limits()) == 2

    def _backend(self, home: Path) -> LocalBackend:
        return LocalBackend(home, [Node(name=NodeName(name), gpus=8) for name in ("n0", "n1")])

    def _runtime_folders(self) -> tuple[str, ...]:
        """Where the workers of this world have their folders."""
        return (str(runtime_folder(self._home)),)

    def script(self, job: JobId, *scripts: GangScript) -> None:
        self._scripts[job] = scripts
        self._shadow.script(job, *scripts)

    def advance(self, to_ms: int) -> None:
        self._observe()
        self._shadow.advance(to_ms)
        self._observe()

    def lose_node(self, node: NodeName) -> None:
        """Kill its supervisor and keep another one from taking its place, so that the node is swept."""
        found = supervisor_address(self._home / "nodes" / node)
        assert found is not None
        log = self._home / "nodes" / node / "supervisor.log"
        log.unlink()
        log.mkdir()
        self._blocked.append(log)
        os.kill(found.pid, signal.SIGKILL)
        self._shadow.lose_node(node)

    def alive(self, job: JobId) -> tuple[int, ...]:
        """The ranks of which the machine has processes, whatever is reported."""
        self._observe()
        found, folders = set(), self._runtime_folders()
        for environ in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                text = environ.read_bytes().decode(errors="replace")
                variables = dict(each.split("=", 1) for each in text.split("\0") if "=" in each)
                asked = variables.get("MUSTER_CHECKPOINT_ASK", "")
                if variables.get("MUSTER_JOB") == job and any(folder in asked for folder in folders):
                    found.add(int(variables["MUSTER_RANK"]))
        return tuple(sorted(found))

    def send(self, command: Command) -> None:
        if isinstance(command, StartWorkers):
            self._real.send(evolve(command, spec=self._scripted(command)))
            self._shadow.send(command)
            return
        self._observe()
        self._wait(lambda: all(self._is_ready(command, rank) for rank in self._shadow.alive(command.job)))
        self._real.send(command)
        self._shadow.send(command)

    def poll(self) -> tuple[ObservedEvent, ...]:
        self._observe()
        expected, self._expected = self._expected, []
        heard: list[ObservedEvent] = []

        def look() -> bool:
            news = (event for event in self._real.poll() if not isinstance(event, self.unshadowed))
            heard.extend(self._stamped(event, expected) for event in news)
            return not Counter(expected) - Counter(heard) and self._is_quiet()

        with suppress(AssertionError):  # then the test says what is missing
            self._wait(look)
        look()
        surplus = Counter(heard) - Counter(expected)
        if Counter(expected) - Counter(heard):
            return tuple(heard)
        return (*(event for event in heard if event in surplus), *expected)

    def acknowledge(self) -> None:
        self._real.acknowledge()

    def close(self) -> None:
        for log in self._blocked:
            log.rmdir()
        self._wait(lambda: len(self._real.limits()) == 2)
        self._real.shutdown()

    def _observe(self) -> None:
        """See what the shadow does, and have the real processes do it."""
        for event in self._shadow.poll():
            self._expected.append(event)
            if isinstance(event, WorkersExited) and not event.told:
                for rank in event.ranks:
                    end = self._folder / f"{event.attempt}-{rank}.end"
                    end.with_suffix(".new").write_text(str(event.exit_code))
                    end.with_suffix(".new").replace(end)

    def _scripted(self, command: StartWorkers) -> JobSpec:
        scripts = self._scripts.get(command.job, ()) or (GangScript(),)
        script = scripts[min(command.attempt, len(scripts)) - 1]
        trap = "trap '' TERM" if script.stop_ms is None else f"trap 'exit {script.stop_exit_code}' TERM"
        run = LIVES.format(trap=trap, folder=self._folder)
        return evolve(command.spec, roles=tuple(evolve(role, run=run) for role in command.spec.roles))

    def _stamped(self, event: ObservedEvent, expected: list[ObservedEvent]) -> ObservedEvent:
        """The event at the time of the shadow's like it; in the shadow's words where words are free."""
        if isinstance(event, NodeLost):
            event = evolve(event, because="lost")
        times = [each.at_ms for each in expected if evolve(each, at_ms=0) == evolve(event, at_ms=0)]
        return evolve(event, at_ms=times[0] if times else self._shadow.now_ms)

    def _is_ready(self, command: Command, rank: int) -> bool:
        attempt = max(command.attempt, self._shadow._gangs[command.job].attempt)
        return (self._folder / f"{attempt}-{rank}.ready").exists()

    def _is_quiet(self) -> bool:
        """True when every command was taken by every node that is there."""
        return not self._real._commands and not any(
            link._backlog for link in self._real._links.values() if not link.is_lost
        )

    def _wait(self, look: Callable[[], bool]) -> None:
        give_up_s = time.monotonic() + DEADLINE_S
        while not look():
            assert time.monotonic() < give_up_s, "in vain"
            time.sleep(0.002)
