"""The local backend: commands go to the supervisors of this machine's nodes, and their reports come back.

A separate thread talks to all supervisors, so that neither `send` nor `poll` ever waits. Supervisors keep reports until
`acknowledge` says that they are recorded: the caller polls, commits, and then acknowledges.
"""

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from muster.backends.base import Beside
from muster.backends.local.attachment import Attachment
from muster.backends.local.ending import end_supervisors, last_words, node_folders
from muster.backends.local.handshake import found_gangs
from muster.backends.local.job_files import JobFiles
from muster.backends.local.link import LOOPBACK, Link, Listener
from muster.backends.local.meeting.ports import ReservedPorts
from muster.backends.local.meeting.rendezvous_services import LOOK_MS, RendezvousServices
from muster.backends.local.node_links import NodeLinks
from muster.backends.local.pruning import LogPruning
from muster.backends.local.report_numbers import ReportNumbers
from muster.backends.local.report_queue import MeasuredValues, ReportQueue
from muster.backends.local.training.training_talk import TrainingTalk
from muster.backends.local.worker_routing import WorkerRouting, denied
from muster.failpoints import failpoint
from muster.home import Home
from muster.model.errors import InvariantViolated
from muster.model.events import (
    NodeLost,
    NodeReturned,
    NodeUnreachable,
    ObservedEvent,
    StartFailed,
    WorkersExited,
)
from muster.model.ids import JobId, NodeName
from muster.model.instructions import Command, StartWorkers, ranks_named
from muster.model.machines.ownership import Leadership
from muster.model.node import Node
from muster.model.node_limits import CONTROL_SILENCE_MS, SUPERVISOR_BACKLOG, SUPERVISOR_END_S
from muster.model.telemetry import RankProgress, Telemetry
from muster.worker.loop import Loop
from muster.worker.messages import encoded, measured, report
from muster.worker.probes.prober import ProbeSettings
from muster.worker.service import Message

_log = logging.getLogger("muster.backends.local")

NOBODY = Leadership()
"""No database: for a backend that is used without one."""

NOWHERE = NodeName("")
"""The node of an event that the backend observed by itself, so that no supervisor has to forget it."""


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
        probes: ProbeSettings | None = None,
    ) -> None:
        """Talk to these nodes. What ran on other nodes of this home is ended first: nothing could reach it any more."""
        super().__init__(home)
        self.on_news = on_news
        self.leads: Callable[[], bool] = lambda: True
        """False while another control plane may lead. Then commands wait."""
        self._probes = probes
        """What nodes measure; None when they measure nothing."""
        self._tests: deque[tuple[NodeName, int]] = deque()
        self._commands: deque[Command] = deque()
        self._fenced: deque[tuple[NodeName, str]] = deque()
        self._unplaced: list[Command] = []
        """Stops and kills for workers that may be on a node which has not greeted yet."""
        self._news = ReportQueue()
        self._measured = MeasuredValues()
        self._decided_s: float | None = None
        """When the control plane last decided, by a monotonic clock."""
        self._numbers = ReportNumbers()
        self._losses: dict[NodeName, int] = {}
        """By node whose supervisor died unnoticed, the number of the last report before its workers were lost."""
        self._has_news = self.has_caught_up = False
        """True once every node has reported what happened while no control plane listened, or was swept."""
        self._is_closing = False
        self._death = ""
        """Why the backend stopped working, if it was not told to stop."""
        self._ports = ReservedPorts()
        self._directory = WorkerRouting(self._ports.choose)
        self._services = RendezvousServices(home, self._directory.is_running)
        self._loop = Loop(settle=self._settle)
        self._pruning = LogPruning(Home(home).logs, self._loop)
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._loop.watch(self._bell, readable=self._rung)
        listener = Listener(
            greeted=self._greeted,
            heard=self._take,
            lost=self._lost,
            swept=self._swept,
            refused=self._refused,
            decides=self._decides,
        )
        self._nodes = NodeLinks(home, nodes, self._loop, listener, leadership, options=tuple(options), ring=self._ring)
        self._links = self._nodes.by_name
        self.switchboard = self._nodes.switchboard
        """Where agents of nodes on other machines connect."""
        self._training = TrainingTalk(self._loop, self._links, self._ring)
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
        events = []
        was_full = self._news.is_full
        for node, number, event in self._news.take():
            events.append(event)
            if node != NOWHERE:
                self._numbers.polled(node, number)
        if was_full:
            self._ring()  # there is room again
        return tuple(events)

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

    def fenced(self, node: NodeName, because: str) -> None:
        """Somebody says that a node which cannot be reached is off. May be called on any thread."""
        self._fenced.append((node, because))
        self._ring()

    def has_run(self, node: NodeName, job: JobId) -> bool:
        """True when a job has or had workers on a node. May be called on any thread."""
        return self._directory.has_run(node, job)

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
            self._loop.run()
        finally:
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
            self._dispatch(self._commands.popleft())
        while self._tests:
            self._nodes.test(*self._tests.popleft())
        self._training.send()
        for node, number in self._numbers.to_acknowledge():
            if self._links[node].is_up:
                self._numbers.acknowledged(node, number)
                self._links[node].say({"heard": number})

    def _decides(self) -> bool:
        return self._decided_s is not None and time.monotonic() - self._decided_s < CONTROL_SILENCE_MS / 1000

    def _settle(self) -> None:
        is_full = self._news.is_full
        for link in self._links.values():
            link.hold(is_full)
            link.flush()
        if not self.has_caught_up and all(map(self._is_heard_out, self._links.values())):
            self.has_caught_up = self._has_news = True
        if self._has_news:
            self._has_news = False
            self.on_news()

    def _is_heard_out(self, link: Link) -> bool:
        """True when every report has come that a node had kept when it greeted, or when none will come."""
        unheard = link.hello.get("unheard", 0)
        return link.is_swept or (link.has_greeted and self._numbers.received(link.node.name) >= unheard)

    def _dispatch(self, command: Command) -> None:
        """Send a command to the nodes it concerns."""
        if self._directory.is_older(command):
            return
        unplaced = self._directory.unplaced(command)
        # A node that was lost before it ever greeted may run any worker.
        if unplaced and not all(link.has_greeted or link.is_swept for link in self._links.values()):
            self._unplaced.append(command)
            return
        is_agreed = self._training.agreements.takes(command)
        errands = self._directory.route(command)
        host = self._nodes.address(self._directory.node_of(command.job))
        if isinstance(command, StartWorkers) and errands and errands[0].port:
            self._services.provide(command, LOOPBACK, errands[0].port)
        for errand in errands:
            link = self._links.get(errand.node)
            if link is None:
                self._deny(errand.command, ranks_named(errand.command), f"{errand.node} is no node of this machine")
            elif not link.is_lost:
                failpoint("send.before")
                meet = {"host": host, "port": errand.port}
                given = link.given(errand.command) if isinstance(errand.command, StartWorkers) else {}
                link.command({"command": encoded(errand.command), "meet": meet, "agreed": is_agreed, **given})
                failpoint("send.after")
        if is_agreed:
            self._training.agreements.begin(command)
        is_older = self._directory.is_of_older_attempt(command)
        self._deny(command, unplaced, "a newer attempt was heard of" if is_older else "never started")

    def _deny(self, command: Command, ranks: tuple[int, ...], message: str) -> None:
        """Report that workers which no node knows do not exist."""
        if not ranks:
            return
        self._tell(denied(command, ranks, message, _now_ms()))

    def _greeted(self, link: Link, hello: Message) -> None:
        """A node has greeted: learn what it knows, and note whether it was thought lost or has lost its workers."""
        name = link.node.name
        found = found_gangs(name, hello, _now_ms())
        for job, attempt, generation, port, ranks in hello["gangs"]:
            self._directory.learn(name, job, attempt, generation, port, ranks)
        for job, attempt, rank in hello.get("doomed", ()):
            self._directory.learn_doomed(name, job, attempt, rank)
        self._numbers.greeted(name, hello.get("last", 0))
        if self._probes is not None and hello.get("probes"):
            link.say({"probes": {**asdict(self._probes), "gpus": link.node.gpus}})
        self._training.greeted(name)
        if link.is_lost:
            self._return(link)
        elif hello.get("lost"):
            self._losses[name] = hello.get("lost_after", 0)
        self._tell(found)
        self._look_again()

    def _look_again(self) -> None:
        """A node has greeted or was swept: commands that waited for it may be routed now, or denied."""
        waiting, self._unplaced = self._unplaced, []
        self._commands.extendleft(reversed(waiting))
        self._ring()

    def _return(self, link: Link) -> None:
        self._losses.pop(link.node.name, None)
        self._tell(NodeReturned(at_ms=_now_ms(), node=link.node.name, because="its supervisor is back"))

    def _lost(self, link: Link, because: str) -> None:
        self._tell(NodeUnreachable(at_ms=_now_ms(), node=link.node.name, because=because))

    def _forget(self, node: NodeName, because: str) -> None:
        """Nothing is left on a node that was fenced, unless it is back by now."""
        link = self._links.get(node)
        if link is not None and link.is_lost and not link.is_swept:
            link.is_swept = True
            self._gone(node, because)

    def _swept(self, link: Link) -> None:
        """Nothing on the node is left. What ended by itself before is reported first: it need not be run again."""
        for event in last_words(Home(self._home).node(link.node.name)):
            self._tell(event)
        self._gone(link.node.name, "it was swept without its supervisor")

    def _gone(self, node: NodeName, because: str) -> None:
        self._directory.swept(node)
        self._tell(NodeLost(at_ms=_now_ms(), node=node, because=because))
        self._look_again()

    def _refused(self, link: Link, because: str) -> None:
        """Another control plane leads. This one must not go on: it would fight the other for every node."""
        self._death = f"node {link.node.name} does not obey it: {because}"
        self._has_news = True

    def _take(self, link: Link, message: Message) -> None:
        match message:
            case {"report": int(number), "event": dict(body)}:
                name = link.node.name
                if not self._numbers.is_news(name, number):
                    return
                if number > self._losses.get(name, number):
                    # What it reported before it died was true. Workers that its successor ended are lost with the node.
                    self._tell(NodeUnreachable(at_ms=_now_ms(), node=name, because="its supervisor had ended"))
                    self._return(link)
                event = report(body)
                if isinstance(event, WorkersExited | StartFailed):
                    self._directory.ended(event)
                self._training.agreements.reported(event)
                self._tell(event, name, number)
            case {"measured": dict(body)}:
                self._measure(measured(body))
            case {"failed": dict(body)}:  # its journal cannot be written; it reports this again once it can
                self._tell(report(body))
            case _:
                self._training.hear(link.node.name, message)

    def _measure(self, value: Telemetry) -> None:
        self._measured.put(value)
        if isinstance(value, RankProgress):
            self._training.agreements.heard(value)

    def _tell(self, event: ObservedEvent, node: NodeName = NOWHERE, number: int = 0) -> None:
        self._news.put((node, number, event))
        self._has_news = True


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
