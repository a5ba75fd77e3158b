"""A local backend with real supervisors and real processes, and ways to wait for what must happen."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from muster.backends.local.backend import LocalBackend
from muster.backends.local.logs import read_log
from muster.model.events import ObservedEvent, WorkersExited, WorkersStarted
from muster.model.ids import JobId, NodeName, TeamPath, TierName
from muster.model.instructions import KillWorkers, SignalStop, StartWorkers
from muster.model.job import Cause, Worker
from muster.model.node import Node
from muster.model.resources import Request
from muster.model.spec import CheckpointSpec, JobSpec, Launch, RoleSpec
from muster.processes import entry
from muster.worker.launch.runtime_folder import runtime_folder
from muster.worker.supervisor_address import SupervisorAddress, supervisor_address

DEADLINE_S = 20.0
"""How long anything may take on a machine that is busy with something else."""

NOTHING = Request()

T = TypeVar("T")
EventT = TypeVar("EventT", bound=ObservedEvent)


def eventually(look: Callable[[], T | None], *, what: str = "") -> T:
    """The first true thing that `look` sees."""
    give_up_s = time.monotonic() + DEADLINE_S
    while not (seen := look()):
        if time.monotonic() > give_up_s:
            raise AssertionError(f"in vain: {what or look}")
        time.sleep(0.002)
    return seen


def a_node(name: str = "n1") -> Node:
    return Node(name=NodeName(name), gpus=8)


def a_spec(
    run: str,
    *,
    setup: str = "",
    env: dict[str, str] | None = None,
    secrets: tuple[str, ...] = (),
    request: Request = NOTHING,
    checkpoint: CheckpointSpec | None = None,
    launch: Launch = Launch.PLAIN,
) -> JobSpec:
    return JobSpec(
        name="test",
        team=TeamPath("nlp/pretraining"),
        tier=TierName("standard"),
        roles=(RoleSpec(name="worker", workers_min=1, workers_max=1, request=request, run=run),),
        setup=setup,
        env=tuple((env or {}).items()),
        secrets=secrets,
        checkpoint=checkpoint,
        launch=launch,
    )


class Machine:
    """This machine as a test sees it."""

    def __init__(self, home: Path, nodes: Iterable[str] = ("n1",), *, options: tuple[str, ...] = ()) -> None:
        self.home = home
        self.nodes = tuple(a_node(name) for name in nodes)
        self.options = options
        self.backend = self.connect()
        self.events: list[ObservedEvent] = []

    def connect(self) -> LocalBackend:
        return LocalBackend(self.home, self.nodes, options=self.options)

    def start(
        self,
        spec: JobSpec | str,
        *,
        job: str = "job-1",
        attempt: int = 1,
        generation: int = 1,
        nodes: tuple[str, ...] = ("n1",),
        max_duration_ms: int | None = None,
    ) -> JobId:
        gang = tuple(Worker(rank=rank, role="worker", node=NodeName(node)) for rank, node in enumerate(nodes))
        self.backend.send(
            StartWorkers(
                job=JobId(job),
                attempt=attempt,
                generation=generation,
                spec=a_spec(spec) if isinstance(spec, str) else spec,
                workers=gang,
                gang=gang,
                max_duration_ms=max_duration_ms,
            )
        )
        return JobId(job)

    def stop(self, *ranks: int, job: str = "job-1", generation: int = 2, grace_ms: int = 60_000) -> None:
        self.backend.send(
            SignalStop(
                job=JobId(job),
                attempt=1,
                generation=generation,
                ranks=ranks or (0,),
                grace_ms=grace_ms,
                cause=Cause.CANCELLED,
            )
        )

    def kill(self, *ranks: int, job: str = "job-1", attempt: int = 1, generation: int = 3) -> None:
        self.backend.send(KillWorkers(job=JobId(job), attempt=attempt, generation=generation, ranks=ranks or (0,)))

    def poll(self) -> list[ObservedEvent]:
        """Everything heard so far; what was polled counts as recorded."""
        self.events += self.backend.poll()
        self.backend.acknowledge()
        self.backend.decided()
        return self.events

    def heard(self, kind: type[EventT], *, job: str = "job-1", count: int = 1) -> EventT:
        """Wait for the last of so many reports of a kind about a job."""

        def look() -> list[EventT] | None:
            events: list[Any] = self.poll()
            found = [event for event in events if isinstance(event, kind) and getattr(event, "job", job) == job]
            return found if len(found) >= count else None

        return eventually(look, what=f"{count} {kind.__name__} of {job}, heard {self.events}")[count - 1]

    def exit_of(self, *, job: str = "job-1", count: int = 1) -> WorkersExited:
        return self.heard(WorkersExited, job=job, count=count)

    def is_up(self, *, job: str = "job-1") -> WorkersStarted:
        return self.heard(WorkersStarted, job=job)

    def log(self, *, job: str = "job-1", attempt: int = 1, rank: int = 0) -> str:
        return read_log(self.home, JobId(job), attempt, rank).data.decode()

    def says(self, text: str, *, job: str = "job-1", attempt: int = 1) -> str:
        """Wait until the worker has printed this."""
        eventually(lambda: text in self.log(job=job, attempt=attempt), what=f"{text!r} in the log of {job}")
        return self.log(job=job, attempt=attempt)

    def supervisor(self, node: str = "n1") -> SupervisorAddress:
        return eventually(lambda: supervisor_address(self.home / "nodes" / node), what=f"a supervisor of {node}")

    def kill_supervisor(self, node: str = "n1") -> SupervisorAddress:
        found = self.supervisor(node)
        os.kill(found.pid, signal.SIGKILL)
        return found

    def worker_folders(self, node: str = "n1") -> list[Path]:
        """What is laid out for the workers of a node."""
        return sorted((runtime_folder(self.home) / node).iterdir())

    def journal(self, node: str = "n1") -> list[list[object]]:
        return [json.loads(line) for line in (self.home / "nodes" / node / "journal").read_text().splitlines()]

    def close(self) -> None:
        self.backend.shutdown()


def is_alive(pid: int) -> bool:
    found = entry(pid)
    return found is not None and found.is_alive
