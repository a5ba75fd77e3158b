"""The local backend: commands go to the supervisors of this machine's nodes, and their reports come back.

A separate thread talks to all supervisors, so that neither `send` nor `poll` ever waits. Supervisors keep reports until
`acknowledge` says that they are recorded: the caller polls, commits, and then acknowledges.
"""

import logging
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from muster.backends.allocations.allocations import Allocations, BackendParts
from muster.backends.allocations.engine import AllocationEngine
from muster.backends.allocations.link import AllocationLink
from muster.backends.allocations.node_watch import Admit
from muster.backends.base import Beside
from muster.backends.local.attachment import Attachment
from muster.backends.local.dispatching import Dispatching
from muster.backends.local.ending import end_supervisors, last_words, node_folders
from muster.backends.local.handshake import found_gangs
from muster.backends.local.job_files import JobFiles
from muster.backends.local.link import Link, Listener
from muster.backends.local.meeting.ports import ReservedPorts
from muster.backends.local.meeting.rendezvous_services import LOOK_MS, RendezvousServices
from muster.backends.local.node_links import NodeLinks
from muster.backends.local.node_settings import EVERYDAY, NodeSettings
from muster.backends.local.pruning import LogPruning
from muster.backends.local.report_queue import MeasuredValues
from muster.backends.local.reporting import Reporting
from muster.backends.local.training.training_talk import TrainingTalk
from muster.backends.local.worker_routing import WorkerRouting
from muster.home import Home
from muster.model.errors import InvariantViolated
from muster.model.events import (
    NodeLost,
    NodeReturned,
    NodeUnreachable,
    ObservedEvent,
    RuntimeFound,
    WorkersExited,
)
from muster.model.ids import JobId, NodeName
from muster.model.instructions import Command
from muster.model.job import Cause
from muster.model.machines.ownership import Leadership
from muster.model.node import Node
from muster.model.node_limits import CONTROL_SILENCE_MS, SUPERVISOR_BACKLOG, SUPERVISOR_END_S
from muster.model.records import evolve
from muster.model.telemetry import RankProgress, Telemetry
from muster.worker.loop import Loop
from muster.worker.messages import measured, report
from muster.worker.service import Message

_log = logging.getLogger("muster.backends.local")

NOBODY = Leadership()
"""No database: for a backend that is used without one."""


class LocalBackend(JobFiles):
    """Runs workers on this machine."""

    def __init__(
        self,
        home: Path,
        nodes: Iterable[Node],
        on_news: Callable[[], None] = lambda: None,
        *,
        leadership: Leadership = NOBODY,
        options: Sequence[str] = (),
        settings: NodeSettings = EVERYDAY,
        engines: Sequence[AllocationEngine] = (),
        admit: Admit = lambda _: (),
    ) -> None:
        """Talk to these nodes, and to what `admit` takes in later. What ran on others, which none reaches, is ended."""
        super().__init__(home)
        self.on_news = on_news
        self.leads: Callable[[], bool] = lambda: True
        """False while another control plane may lead. Then commands wait."""
        self._settings = settings
        self._tests: deque[tuple[NodeName, int]] = deque()
        self._commands: deque[Command] = deque()
        self._fenced: deque[tuple[NodeName, str]] = deque()
        self._unplaced: list[Command] = []
        """Stops and kills for workers that may be on a node which has not greeted yet."""
        self._measured = MeasuredValues()
        self._decided_s = -math.inf
        """When the control plane last decided, by a monotonic clock."""
        self._losses: dict[NodeName, int] = {}
        """By node whose supervisor died unnoticed, the number of the last report before its workers were lost."""
        self.has_caught_up = False
        """True once every node has reported what happened while no control plane listened, or was swept."""
        self._is_closing = False
        self._death = ""
        """Why the backend stopped working, if it was not told to stop."""
        self._ports = ReservedPorts()
        self._directory = WorkerRouting(self._ports.choose)
        self._reports = Reporting(self._directory.heard)
        self._numbers = self._reports.numbers
        self._services = RendezvousServices(home, self._directory.is_running)
        self._loop = Loop(settle=self._settle)
        self._pruning = LogPruning(Home(home).logs, self._loop)
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._loop.watch(self._bell, readable=self._rung)
        names = frozenset(engine.name for engine in engines)
        self._nodes = NodeLinks(
            home, nodes, self._loop, self._listener(), leadership, tuple(options), names, self._ring
        )
        self._links = self._nodes.by_name
        self.switchboard = self._nodes.switchboard
        """Where agents of nodes on other machines connect."""
        self._training = TrainingTalk(self._loop, self._links, self._ring)
        self._reports.hear.append(self._training.agreements.reported)
        parts = self._parts()
        self._allocations = Allocations(home, engines, parts, admit)
        self._directory.post_of = self._allocations.post_of
        self._dispatching = Dispatching(parts, self._allocations, self._training.agreements, self._services)
        end_supervisors(folder for folder in node_folders(home) if folder.name not in self._links)
        self._thread = threading.Thread(target=self._run, name="local-backend", daemon=True)
        self._thread.start()

    def send(self, command: Command) -> None:
        """Take a command to carry out. Never waits."""
        self._check_life()
        if len(self._commands) >= SUPERVISOR_BACKLOG:
            raise InvariantViolated("the local backend does not keep up with its commands")
        self._commands.append(command)
        self._ring()

    def poll(self) -> tuple[ObservedEvent, ...]:
        """What was observed since the last call, in the order it happened. Never waits."""
        self._check_life()
        was_full = self._reports.is_full
        events = self._reports.take()
        if was_full:
            self._ring()  # there is room again
        return events

    def telemetry(self) -> tuple[Telemetry, ...]:
        """What nodes measured since the last call, of each thing the newest value. May be called on any thread."""
        return self._measured.take()

    def test(self, node: NodeName, number: int) -> None:
        """Have a node run its test. The outcome is measured. May be called on any thread; nothing if it is away."""
        self._tests.append((node, number))
        self._ring()

    def acknowledge(self) -> None:
        """Everything that `poll` has returned is recorded: the supervisors may forget it."""
        if self._numbers.record():
            self._ring()

    def decided(self) -> None:
        """Limits and grace periods that have passed were acted upon. Without this call, supervisors enforce them."""
        self._decided_s = time.monotonic()
        if self._commands:
            self._ring()  # they may have waited until this was known to be the leader

    def limits(self) -> dict[NodeName, tuple[str, tuple[str, ...]]]:
        """How each node that is up limits its workers (`cgroup2`, `cgroup1`, `rlimits`), and what it does not limit."""
        return self._nodes.limits()

    def attach(self, job: JobId, beside: Beside | None = None) -> Attachment:
        """The terminal of an interactive job, or a command beside a worker. Waits for the supervisor."""
        return self._nodes.attach(self._directory.node_of(job, None if beside is None else beside.rank), job, beside)

    def stacks(self, job: JobId, timeout_s: float) -> dict[int, str]:
        """What every process of a job is doing now, by rank. May be called on any thread, and waits for their nodes."""
        return self._training.stacks(job, self._directory.nodes_of(job), timeout_s)

    def signal(self, job: JobId, number: int, *, script_only: bool = False) -> None:
        """Send a signal to the processes of a job. May be called on any thread, and does not wait."""
        self._training.signal(job, self._directory.nodes_of(job), number, script_only=script_only)

    def end_runs(self, runs: Iterable[str]) -> None:
        """These runs are over for good: nodes remove their hot checkpoints. May be called on any thread."""
        self._training.end_runs(runs)

    def pull_ahead(self, node: NodeName, images: tuple[str, ...]) -> None:
        """Jobs with these images are to start on a node soon. May be called on any thread, and does not wait."""
        self._training.pull_ahead(node, images)

    def fenced(self, node: NodeName, because: str) -> None:
        """Somebody says that a node which cannot be reached is off. May be called on any thread."""
        self._fenced.append((node, because))
        self._ring()

    def has_run(self, node: NodeName, job: JobId) -> bool:
        """True when a job has or had workers on a node. May be called on any thread."""
        return self._directory.has_run(node, job)

    def expects(self, post: NodeName) -> bool:
        """True for a post of an allocation whose agent may connect. May be called on any thread."""
        return self._nodes.expects(post)

    def output_told(self, post: NodeName, behind: int) -> None:
        """An agent says how many bytes of what was printed there have not come. May be called on any thread."""
        self._nodes.output_told(post, behind)
        self._ring()

    def close(self) -> None:
        """Stop talking to supervisors. They and everything they run go on."""
        if self._is_closing:
            return
        self._is_closing = True
        os.eventfd_write(self._bell, 1)
        self._thread.join()
        os.close(self._bell)

    def shutdown(self, timeout_s: float = SUPERVISOR_END_S) -> None:
        """End every supervisor with everything that it runs, and wait until they are gone."""
        self.close()
        self._services.end_all()
        end_supervisors((Home(self._home).node(name) for name in self._links), timeout_s)

    def _ring(self) -> None:
        if not self._is_closing:
            os.eventfd_write(self._bell, 1)

    def _check_life(self) -> None:
        if self._death:
            raise InvariantViolated(
                f"the local backend has stopped ({self._death}); jobs go on, and a restart of Muster finds them again"
            )

    def _run(self) -> None:
        try:
            self._talk()
        except Exception as error:  # noqa: BLE001 - whatever it is, it would go unnoticed otherwise
            _log.exception("the local backend has stopped")
            self._death = f"{type(error).__name__}: {error}"
            self.on_news()

    def _talk(self) -> None:
        try:
            self._pruning.begin()
            self._look_at_services()
            self._nodes.open()
            self._allocations.open(self._nodes.elsewhere)
            self._loop.run()
        finally:
            self._allocations.close()
            self._nodes.close()
            self._ports.close()
            self._loop.close()

    def _look_at_services(self) -> None:
        self._loop.after(LOOK_MS, self._look_at_services)
        if self.leads():
            self._services.look(is_complete=self.has_caught_up)

    def _rung(self) -> None:
        os.eventfd_read(self._bell)
        if self._is_closing:
            self._loop.stop()
        self._nodes.admit()
        while self._fenced:
            self._forget(*self._fenced.popleft())
        while self._commands and self.leads():
            command = self._commands.popleft()
            if not self._dispatching.dispatch(command):
                self._unplaced.append(command)
        while self._tests:
            self._nodes.test(*self._tests.popleft())
        self._training.send()
        for node, number in self._numbers.to_acknowledge():
            if (link := self._links.get(node)) is not None and link.is_up:
                self._numbers.acknowledged(node, number)
                link.say({"heard": number})
        self._allocations.settle()

    def _decides(self) -> bool:
        return time.monotonic() - self._decided_s < CONTROL_SILENCE_MS / 1000

    def _settle(self) -> None:
        is_full = self._reports.is_full
        for link in tuple(self._links.values()):
            link.hold(is_full)
            link.flush()
        has_heard = self._allocations.has_looked and all(
            each.is_heard_out(self._numbers.received(name)) for name, each in self._links.items()
        )
        if not self.has_caught_up and has_heard:
            self.has_caught_up = self._reports.has_news = True
        if self._reports.has_news:
            self._reports.has_news = False
            self.on_news()

    def _greeted(self, link: Link, hello: Message) -> None:
        """A node has greeted: learn what it knows, and note whether it was thought lost or has lost its workers."""
        name = link.node.name
        found = found_gangs(name, hello, _now_ms())
        for job, attempt, generation, port, ranks in hello["gangs"]:
            self._directory.learn(name, job, attempt, generation, port, ranks)
        for job, attempt, rank in hello.get("doomed", ()):
            self._directory.learn_doomed(name, job, attempt, rank)
        self._numbers.greeted(name, hello.get("last", 0))
        self._settings.say(link, hello)
        self._training.greeted(name)
        if link.is_lost:
            self._return(link)
        elif hello.get("lost"):
            self._losses[name] = hello.get("lost_after", 0)
        if link.is_standing:
            self._reports.tell(found)
        self._look_again()

    def _look_again(self) -> None:
        """A node has greeted or was swept: commands that waited for it may be routed now, or denied."""
        waiting, self._unplaced = self._unplaced, []
        self._commands.extendleft(reversed(waiting))
        self._ring()

    def _return(self, link: Link) -> None:
        self._losses.pop(link.node.name, None)
        self._reports.tell(NodeReturned(at_ms=_now_ms(), node=link.node.name, because="its supervisor is back"))

    def _lost(self, link: Link, because: str) -> None:
        self._reports.tell(NodeUnreachable(at_ms=_now_ms(), node=link.node.name, because=because))

    def _forget(self, node: NodeName, because: str) -> None:
        """Nothing is left on a node that was fenced, unless it is back by now."""
        link = self._links.get(node)
        if link is not None and link.is_lost and not link.is_swept:
            link.is_swept = True
            self._gone(node, because)

    def _swept(self, link: Link) -> None:
        """Nothing on the node is left. What ended by itself before is reported first: it need not be run again."""
        for event in last_words(Home(self._home).node(link.node.name)):
            self._reports.tell(event)
        self._gone(link.node.name, "it was swept without its supervisor")

    def _gone(self, node: NodeName, because: str) -> None:
        self._directory.swept(node)
        self._reports.tell(NodeLost(at_ms=_now_ms(), node=node, because=because))
        self._look_again()

    def _refused(self, link: Link, because: str) -> None:
        """Another control plane leads. This one must not go on: it would fight the other for every node."""
        self._death = f"node {link.node.name} does not obey it: {because}"
        self._reports.has_news = True

    def _take(self, link: Link, message: Message) -> None:
        match message:
            case {"report": int(number), "event": dict(body)}:
                name = link.node.name
                if not self._numbers.is_news(name, number):
                    return
                is_after_loss = number > self._losses.get(name, number)
                if is_after_loss and link.is_standing:
                    # What it reported before it died was true. Workers that its successor ended are lost with the node.
                    self._reports.tell(NodeUnreachable(at_ms=_now_ms(), node=name, because="its supervisor had ended"))
                    self._return(link)
                event = report(body)
                if is_after_loss and isinstance(event, WorkersExited) and not link.is_standing:
                    event = evolve(event, ended_for=Cause.NODE_FAILURE, because="their supervisor had ended")
                if not isinstance(link, AllocationLink) or not self._allocations.heard(link, number, event):
                    self._reports.report(name, event, number)
            case {"measured": dict(body)}:
                value = measured(body)
                self._measured.put(value)
                if isinstance(value, RankProgress):
                    self._training.agreements.heard(link.node.name, value)
            case {"runtime": str(runtime)}:
                self._reports.tell(RuntimeFound(at_ms=_now_ms(), node=link.node.name, runtime=runtime))
            case {"failed": dict(body)}:  # its journal cannot be written; it reports this again once it can
                self._reports.tell(report(body))
            case _:
                self._training.hear(link.node.name, message)

    def _listener(self) -> Listener:
        return Listener(
            greeted=self._greeted,
            heard=self._take,
            lost=self._lost,
            swept=self._swept,
            refused=self._refused,
            decides=self._decides,
        )

    def _parts(self) -> BackendParts:
        return BackendParts(
            loop=self._loop,
            ring=self._ring,
            leads=lambda: self.leads(),  # noqa: PLW0108 - it is set later
            nodes=self._nodes,
            reports=self._reports,
            directory=self._directory,
            looked=self._look_again,
        )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
