"""The protocol of a supervisor: it greets, takes commands, and keeps reports until they are acknowledged.

What a control plane sends                     what it receives
    {"token": …, "as": "control", "protocol": n,   {"hello": {…}}, {"alive": gang} for each that runs, {"greeted": …},
     "cluster": …, "epoch": n, "takes_over": …}    then every report it has not acknowledged;
                                                   {"refused": reason} when another control plane governs the node
    {"do": n, "command": {…}, "meet": {…},         {"done": n} once it is in the journal; its outcome is reported
     "given": {…}}                                 ("given" has secrets, for a node that has no home to read them from)
                                                   {"failed": {…}} for a failed start, if the journal is not writable
    {"heard": n}                                   nothing: reports up to n are forgotten
    {"ping": n, "decides": …, "next_ms": n}        {"pong": n}; limits are enforced here unless "decides" is true
    {"announce": …}, {"decide": …}, {"hasten": …}  at which step ranks save or leave: see `training.announcements`
    {"probes": {…}}, {"test": n}                   what it measures from now on; the outcome of the node's test, as
                                                   a measured value (only if the hello says that it knows "probes")
    {"containers": {…}}                            {"runtime": name}, empty without one (only if the hello says that it
                                                   knows "containers")
    {"pull_ahead": [image, …]}                     nothing (only if the hello says that it knows "pulls_ahead")
    {"over": [run, …]}                             nothing: the hot checkpoints of these runs are removed
    {"signal": {"job": …, "number": n,             nothing: the processes of the job that are to get it are signalled
                "script_only": …}}                 (only if the hello says that it knows "signals")
    {"stacks": {"job": …, "number": n}}            {"stacks": {"number": n, "ranks": [[rank, text], …]}}
    {"end": true}                                  nothing: everything is killed and the supervisor ends
    {"retire": true}                               nothing: the supervisor ends once it runs nothing, and everything
                                                   that it has reported is acknowledged
                                                   {"measured": {…}} for the newest value of each thing it measures

What a viewer of a terminal sends              what it receives
    {"token": …, "as": "viewer", "job": …}         {"output": base64}, beginning with the last output before
    {"input": base64}, {"resize": [rows, columns]} what that does to the terminal
                                                   {"over": reason}

What the agent of an allocation sends, and receives, is told in `last_output`.

Who runs a command beside a worker sends       what they receive
    {"token": …, "as": "beside", "job": …,         {"output": base64}, then {"over": reason, "code": n}; without a code
     "rank": n, "run": line, "terminal": …}        the command was not started
    {"input": base64}, {"end_input": true},        what that does to its input or its terminal; closing the connection
    {"resize": [rows, columns]}                    ends the command
"""

import signal
from dataclasses import dataclass

from muster.model.ids import JobId
from muster.model.node_limits import HOT_LOOK_MS
from muster.model.reports import StartFailed
from muster.model.telemetry import Telemetry
from muster.worker import messages
from muster.worker.containers.node_containers import NodeContainers
from muster.worker.containers.settings import ContainerSettings
from muster.worker.control_presence import ControlPresence
from muster.worker.greeting import greeting
from muster.worker.last_output import LastOutput
from muster.worker.launch.launch_spec import Meeting, NodeContext
from muster.worker.launch.secret_files import given_by
from muster.worker.launch.working_copies import WorkingCopies, copy_name
from muster.worker.loop import Loop, Timer
from muster.worker.messages import PROTOCOL, PROTOCOL_OLDEST, BadMessage
from muster.worker.probes.prober import Prober, ProbeSettings
from muster.worker.processes.companions import Companions
from muster.worker.records.journal import RETRY_MS, Journal
from muster.worker.records.orphan_cleanup import OrphanCleanup
from muster.worker.service import Conversation, Message, Service
from muster.worker.terminals.side_commands import SideCommands, SideRequest
from muster.worker.terminals.terminal_viewers import show_terminal
from muster.worker.training.hot_tier import HotTier
from muster.worker.training.runs_over import RunsOver
from muster.worker.training.stack_dumps import StackDumps, Texts
from muster.worker.worker_pool import WorkerPool

ORPHAN_LOOK_MS = 500
"""How often workers that a predecessor left are killed again while they are alive."""

MEASURED_MOST = 4096
"""How many things a node measures at the most: a hundred workers with as many values each are far below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeIdentity:
    """The identity of a supervisor, which others can check."""

    pid: int
    start_ticks: int
    token: str


class Supervisor:
    """The supervisor of one node."""

    def __init__(
        self,
        context: NodeContext,
        journal: Journal,
        identity: NodeIdentity,
        orphans: OrphanCleanup,
        *,
        ends_on: int = signal.SIGTERM,
        while_lives: int | None = None,
    ) -> None:
        """It ends on the signal `ends_on`, and with the process `while_lives`, with everything it runs."""
        self.loop = Loop(settle=self._settle)
        self._context = context
        self._journal = journal
        self._identity = identity
        self._orphans = orphans
        self._lost, self._lost_after = orphans.lost, orphans.lost_after
        self._control: Conversation | None = None
        self._presence = ControlPresence()
        self._untold: list[JobId] | None = None
        """Jobs that the greeting has not listed yet, in reverse order; None once the greeting is complete."""
        self._sent = 0
        self._hinted = 0
        """The numbers of the last report that was sent, and of the last that was sent without its number."""
        self._measured: dict[tuple[object, ...], Telemetry] = {}
        """What was measured and not sent yet: of each thing the newest value."""
        self._done: list[int] = []
        self._retry: Timer | None = None
        self._is_ending = self._is_retiring = False
        self._last_output = LastOutput(self.loop, is_awaited=while_lives is not None)
        self._ends_on = ends_on
        companions = Companions()
        self._containers = NodeContainers(
            context,
            self.loop,
            companions,
            found=self._say_runtime,
            living=lambda: {seat.token for seat in journal.register.living()},
        )
        self._pool = WorkerPool(
            context,
            journal,
            self.loop,
            is_away=self._is_alone,
            left=lambda: orphans.left,
            measure=self.measured,
            companions=companions,
            containers=self._containers,
        )
        self._prober = Prober(context, self.loop, companions, self.measured)
        self._runs_over = RunsOver(HotTier(context.hot, context.node), lambda: self._pool.training.runs)
        self._pool.training.uploads.ended = self._runs_over.look_at
        self._copies = WorkingCopies(context.scratch, context.node)
        self._stack_dumps = StackDumps(self.loop, companions)
        self._side_commands = SideCommands(self.loop, companions)
        self._service = Service(context.folder, self.loop, token=identity.token, hear=self._hear)
        self.loop.on_signal(self._signalled)
        if while_lives is not None:
            self.loop.when_gone(while_lives, self._end)

    def run(self) -> None:
        """Serve until told to end, and until everything that runs has ended."""
        self._pool.reap()
        self._look_at_orphans()
        self._sweep_hot()
        self._copies.clear()
        self.loop.run()
        self._journal.close()

    def measured(self, value: Telemetry) -> None:
        """Send a measured value with this round. While no control plane listens, only the newest is kept."""
        if value.subject in self._measured or len(self._measured) < MEASURED_MOST:
            self._measured[value.subject] = value

    def _look_at_orphans(self) -> None:
        """Kill what a predecessor left, again and again until it is gone."""
        if not self._orphans.is_settled:
            self._orphans.look(self._pool.left_is_gone)
            self.loop.after(ORPHAN_LOOK_MS, self._look_at_orphans)

    def _sweep_hot(self) -> None:
        self._runs_over.sweep()
        self.loop.after(HOT_LOOK_MS, self._sweep_hot)

    def _is_alone(self) -> bool:
        """True while no control plane enforces limits: also one that hangs, or cannot write, keeps its connection."""
        return self._control is None or not self._presence.is_felt

    def _signalled(self, number: int) -> None:
        if number == signal.SIGCHLD:
            self._pool.reap()
        elif number == self._ends_on:
            self._end()

    def _end(self) -> None:
        self._is_ending = True
        self._pool.end_all()
        self._prober.close()

    def _settle(self) -> None:
        """After every round: write the journal, then send reports. A report is sent once a successor would know it too.

        Only failed starts are reported earlier, if the journal cannot be written.
        """
        self._journal.flush()
        if not self._journal.is_stale:
            self._pool.tidy_up()
            self._orphans.tidy_up()
            self._copies.keep_only(self._copies_in_use)
        control = self._control
        if control is not None:
            self._say_gangs(control)
            if self._journal.is_stale:
                self._say_failures(control)
            else:
                self._say_news(control)
            self._say_measured(control)
            control.flush()
        if self._journal.is_stale and (self._retry is None or self._retry.is_over):
            self._retry = self.loop.after(RETRY_MS, lambda: None)  # the next round tries to write it again
        is_idle = self._pool.is_empty and self._orphans.is_settled
        if self._is_retiring and is_idle and not self._journal.register.reports:
            self._end()
        if self._is_ending and is_idle:
            self._last_output.over()
            if self._last_output.is_sent:
                self.loop.stop()

    def _copies_in_use(self) -> frozenset[str]:
        return frozenset(copy_name(seat.job, seat.attempt) for seat in self._journal.register.living())

    def _say_gangs(self, control: Conversation) -> None:
        """Continue a greeting as far as the other side takes it: there may be many job files, and large ones."""
        while self._untold and control.has_room:
            gang = self._journal.register.gangs.get(self._untold.pop())
            if gang is not None and not gang.is_over:
                control.say({"alive": gang.alive})
        if self._untold == []:
            self._untold = None
            control.say({"greeted": True})

    def _say_news(self, control: Conversation) -> None:
        if self._untold is not None:
            return
        for number in self._done:
            control.say({"done": number})
        self._done.clear()
        for number, body in self._journal.register.reports.items():
            if number > self._sent:
                if not control.has_room:
                    break
                control.say({"report": number, "event": body})
                self._sent = number

    def _say_measured(self, control: Conversation) -> None:
        if self._untold is None and self._measured and control.has_room:
            for value in self._measured.values():
                control.say({"measured": messages.encoded(value)})
            self._measured.clear()

    def _say_failures(self, control: Conversation) -> None:
        """Report failed starts while the journal cannot be written.

        A successor that does not know of them makes nothing worse, because there is no process. But it would give the
        number of such a report to another one. So the report is sent without its number, and again once it is written.
        """
        for number, body in self._journal.register.reports.items():
            if number > max(self._sent, self._hinted) and body["type"] == StartFailed.__name__:
                control.say({"failed": body})
                self._hinted = number

    def _hear(self, connection: Conversation, message: Message) -> None:
        match message:
            case {"token": _, "as": "control"}:
                self._answer(connection, message)
            case {"token": _, "as": "viewer", "job": str(job)}:
                show_terminal(connection, self._pool.terminal_of(JobId(job)))
            case {"token": _, "as": "beside", "job": str(job), "rank": int(rank), "run": str(line)}:
                asked = SideRequest(line=line, has_terminal=message.get("terminal") is True)
                self._side_commands.begin(connection, self._pool.worker_of(JobId(job), rank), asked)
            case {"as": "agent"} | {"sent": _}:
                self._last_output.hear(connection, message)
            case _ if connection is self._control:
                self._presence.heard()
                self._take(connection, message)
            case _:
                raise BadMessage("only the control plane that greeted last may say this")

    def _answer(self, connection: Conversation, message: Message) -> None:
        """Listen to this control plane from now on, unless another database or a newer epoch governs the node."""
        cluster, epoch = str(message.get("cluster", "")), int(message.get("epoch", 0))
        register = self._journal.register
        is_other = bool(register.cluster) and cluster != register.cluster and not message.get("takes_over")
        if is_other or (cluster == register.cluster and epoch < register.epoch):
            whose = "another database governs this node" if is_other else f"epoch {register.epoch} governs this node"
            connection.say({"refused": whose})
            connection.flush()
            connection.close()
            return
        if (cluster, epoch) != (register.cluster, register.epoch):
            self._journal.add("ruled", cluster, epoch, synced=True)
        self._greet(connection, int(message.get("protocol", PROTOCOL_OLDEST)))

    def _greet(self, connection: Conversation, protocol: int) -> None:
        """Listen to this control plane from now on. It replaces an older one."""
        before, self._control = self._control, connection
        self._pool.forget_claims()
        self._presence.greeted()
        if before is not None:
            before.close()
            self._pool.hasten()
        connection.closed = self._left
        self._sent = self._hinted = 0
        self._done.clear()
        register = self._journal.register
        losses = {"lost": self._lost, "lost_after": self._lost_after}
        hello, gangs = (
            {**greeting(self._context, register, pid=self._identity.pid, stays=self._last_output.is_sent), **losses},
            register.gangs,
        )
        if protocol < PROTOCOL:
            hello["alive"] = [gang.alive for gang in gangs.values() if not gang.is_over]
            self._untold = None
        else:
            self._untold = [job for job, gang in reversed(gangs.items()) if not gang.is_over]
        connection.say({"hello": hello})

    def _left(self, connection: Conversation) -> None:
        """The control plane is gone: workers that wait for its word to leave are signalled."""
        if self._control is connection:
            self._control = None
            self._pool.hasten()

    def _take(self, connection: Conversation, message: Message) -> None:
        match message:
            case {"do": int(number), "command": dict(body)}:
                if not self._is_ending:
                    by_agreement = message.get("agreed") is True
                    self._pool.obey(messages.command(body), _meeting(message), by_agreement=by_agreement)
                    self._done.append(number)
            case {"heard": int(number)}:
                self._journal.add("acked", number)
                self._lost = 0 if number > self._lost_after else self._lost
            case {"ping": number}:
                self._presence.pinged(message)
                connection.say({"pong": number})
            case {"end": _}:
                self._end()
            case {"retire": _}:
                self._is_retiring = True
            case _:
                self._take_on_node(connection, message)

    def _take_on_node(self, connection: Conversation, message: Message) -> None:
        match message:
            case {"probes": dict(settings)}:
                self._prober.configure(ProbeSettings.of(settings))
            case {"test": int(number)}:
                self._prober.test(number)
            case {"containers": dict(settings)}:
                self._containers.configure(ContainerSettings.of(settings))
                self._say_runtime()
            case {"pull_ahead": list(images)}:
                self._containers.pull_ahead(image for image in images if isinstance(image, str))
            case _:
                self._take_on_training(connection, message)

    def _say_runtime(self) -> None:
        """Say which container runtime there is, once that is known."""
        if self._control is not None and self._containers.is_known:
            runtime = self._containers.runtime
            self._control.say({"runtime": "" if runtime is None else runtime.name})

    def _take_on_training(self, connection: Conversation, message: Message) -> None:
        match message:
            case {"announce": dict(body)}:
                self._pool.training.announcements.announce(body, connection.say)
            case {"decide": dict(body)}:
                self._pool.training.announcements.decide(body)
            case {"hasten": {"job": str(job), "attempt": int(attempt)}}:
                self._pool.hasten(JobId(job), attempt)
            case {"signal": {"job": str(job), "number": int(number), "script_only": bool(script_only)}}:
                self._pool.pass_on(JobId(job), number, script_only=script_only)
            case {"over": list(runs)}:
                self._runs_over.end(runs)
            case {"stacks": {"job": str(job), "number": int(number)}}:
                self._dump_stacks(connection, JobId(job), number)
            case _:
                raise BadMessage("not a message to a supervisor")

    def _dump_stacks(self, connection: Conversation, job: JobId, number: int) -> None:
        """Answer with the stacks of the processes of a job, as soon as they have written them."""

        def answer(texts: Texts) -> None:
            connection.say({"stacks": {"number": number, "ranks": [list(each) for each in texts.items()]}})

        self._stack_dumps.take(self._pool.stack_requests(job), answer)


def _meeting(message: Message) -> Meeting:
    given = given_by(message.get("given"))
    match message.get("meet"):
        case {"host": str(host), "port": int(port)}:
            return Meeting(host=host, port=port, given=given)
        case _:
            return Meeting(given=given)
