"""The folded log: every job, array and node, and the scheduling snapshot in step with them.

Events change a `State` only through `folding.fold`. The same log always folds to the same state.
"""

from collections.abc import Callable, Iterable

from muster.core.lifecycle import desired_commands, desired_kill, occupied, transition
from muster.core.lifecycle.arrays import ArrayTally, waits_of
from muster.core.snapshot import Snapshot
from muster.engine.folding.projection import mirror
from muster.engine.folding.quarantine import Quarantine
from muster.engine.starvation_watch import StarvationWatch
from muster.model.array import ArrayRecord
from muster.model.errors import InvalidInput
from muster.model.events import Event, JobEvent, NodeEvent
from muster.model.ids import JobId, NodeName
from muster.model.instructions import Command, Instruction, KillWorkers
from muster.model.job import Job, JobState
from muster.model.limits import TURN_MS
from muster.model.node import ClusterSpec, HealthRecord, Node, NodeState
from muster.model.policy import AdmissionRule, Profile
from muster.model.records import evolve
from muster.model.scenario import Rules, Scenario
from muster.model.spec import Dependency, JobSpec


class Move:
    """What one event did to one job. A plain class like `Outcome`, because both are created for every event."""

    __slots__ = ("after", "before", "instructions")

    def __init__(self, before: Job | None, after: Job, instructions: tuple[Instruction, ...] = ()) -> None:
        self.before = before
        """None when the job is new."""
        self.after = after
        self.instructions = instructions

    @property
    def has_ended(self) -> bool:
        """True when this was the job's end."""
        return self.after.state.is_final and self.before is not None and not self.before.state.is_final


class Outcome:
    """What one event did to the state."""

    __slots__ = ("commands", "is_change", "moves")

    def __init__(
        self, moves: tuple[Move, ...] = (), commands: tuple[Command, ...] = (), *, is_change: bool = True
    ) -> None:
        self.moves = moves
        """The jobs that it changed, in order."""
        self.commands = commands
        """Commands to send besides the instructions of the moves."""
        self.is_change = is_change
        """False when the event was stale or said nothing new. Then it is not written to the log."""


NOTHING = Outcome(is_change=False)

Follow = Callable[["State", Event, Outcome], None]
"""Called with each event that changed something, right after it was folded and maybe before it is durable."""


class State:
    """Everything the engine knows. Any part of the engine may read it; events change it only through `fold`."""

    def __init__(self, scenario: Scenario) -> None:
        if scenario.running or scenario.waiting:
            raise InvalidInput("an engine starts from a cluster and its rules; jobs come to it by its log")
        self.snapshot = Snapshot.of(scenario)
        if scenario.turn_ms is None:
            self.snapshot.turn_ms = TURN_MS
        self.version = 0
        """How many events were folded and changed something; the same number is the version of the log."""
        self.now_ms = scenario.now_ms
        """The latest time of all events that were folded."""
        self.jobs: dict[JobId, Job] = {}
        self.nodes: dict[NodeName, Node] = {node.name: node for node in scenario.cluster.nodes}
        self.draining = draining_among(scenario.cluster.nodes)
        """Nodes that become drained once nothing runs there."""
        self.arrays: dict[JobId, ArrayTally] = {}
        self.array_specs: dict[JobId, JobSpec] = {}
        self.occupying: dict[JobId, None] = {}
        """Jobs that have GPUs."""
        self.dependents: dict[JobId, dict[JobId, tuple[Dependency, ...]]] = {}
        """For each job or array, the jobs that depend on it and how."""
        self.set_aside: dict[NodeName, str] = {}
        """Nodes that were taken out of service, and who did it: an operator or health."""
        self.node_health: dict[NodeName, HealthRecord] = {}
        """What is remembered about the health of nodes to which something happened."""
        self.node_notes: dict[NodeName, str] = {}
        """Why each node is in its state, as far as a reason was given."""
        self.starvation = new_starvation_watch(self.snapshot) if scenario.policy.takes_turns else None
        """Watches jobs that have run before and wait again; None when jobs do not take turns under the policy."""
        self.configured: Rules | None = None
        """The rules that the configuration set last. An operator may have changed the rules since."""
        self.admission: tuple[AdmissionRule, ...] = ()
        self.profiles: tuple[Profile, ...] = ()
        self.configured_cluster: ClusterSpec | None = None
        """The nodes that the configuration set last. Their states may have changed since."""
        self.lost: dict[NodeName, tuple[KillWorkers, ...]] = {}
        """Kills of what was running on each node when it was last lost."""
        self.quarantine = Quarantine()
        self.spares: tuple[NodeName, ...] = ()
        """Nodes that are kept free for jobs that lose a node."""
        self.submissions = 0
        self.keys: dict[tuple[str, str], tuple[JobId, str]] = {}
        """The job and the fingerprint of each request with a key, by the user who asked and the key."""
        self.key_of: dict[JobId, tuple[str, str]] = {}
        """The user and the key by job."""

    @property
    def rules(self) -> Rules:
        """The rules in force: those that plans are made by, and those that are asked when jobs come in."""
        return evolve(self.snapshot.rules, admission=self.admission, profiles=self.profiles)

    def planned(self, node: Node) -> Node:
        """The node as planning sees it: without GPUs that are used in quarantine or by others, closed while a spare."""
        seen = self.quarantine.planned(node)
        if node.used_by_others:
            seen = evolve(seen, bad_gpus=tuple(sorted({*seen.bad_gpus, *node.used_by_others})))
        if node.name not in self.spares or node.state is not NodeState.READY:
            return seen
        return evolve(seen, state=NodeState.DRAINED, spare=True)

    def state_of(self, job: JobId) -> JobState | None:
        """The state of a job, or of an array as a whole; None when neither has this id."""
        if job in self.arrays:
            return self.arrays[job].progress().state
        return self.jobs[job].state if job in self.jobs else None

    def array_record(self, array: JobId) -> ArrayRecord:
        """All tasks of an array together, as they are now."""
        tally = self.arrays[array]
        return tally.record(self.array_specs[array], self.jobs[tally.tasks[0]])

    def is_taken(self, job: JobId) -> bool:
        """True for the id of a job that is known, or that is unknown and runs somewhere in quarantine."""
        return self.state_of(job) is not None or any(True for _ in self.quarantine.of(job))

    def note_waits(self, submitted: JobId, spec: JobSpec) -> None:
        """Remember which jobs a new job waits for, so that it hears of their ends."""
        for job, depends_on in waits_of(submitted, spec):
            for dependency in depends_on:
                self.dependents.setdefault(dependency.job, {})[job] = depends_on

    def addressed(self, job: JobId) -> tuple[JobId, ...]:
        """The jobs that an event for `job` is for: the job itself, every task of an array, none if it is unknown."""
        if job in self.arrays:
            return self.arrays[job].tasks
        return (job,) if job in self.jobs else ()

    def commands_on(self, node: NodeName, now_ms: int) -> tuple[Command, ...]:
        """The commands for a node that could not be reached and is back: it may have missed some."""
        strays = (gang.job for gang in self.quarantine.on(node) if gang.job in self.jobs)
        jobs = (self.jobs[job] for job in dict.fromkeys((*self.jobs_on(node), *strays)))
        standing = (command for job in jobs for command in desired_commands(job, now_ms))
        return (*self.kills_on(node), *self.quarantine.kills(node, self.jobs), *standing)

    def kills_on(self, node: NodeName) -> tuple[KillWorkers, ...]:
        """Kills of what a lost node was running, to be sent again because it may not have received them."""
        kills = (desired_kill(self.jobs[kill.job], kill) for kill in self.lost.get(node, ()))
        return tuple(kill for kill in kills if kill is not None)

    def jobs_on(self, node: NodeName) -> tuple[JobId, ...]:
        """The jobs that have a worker on a node, in the order of their ids."""
        found = (job for job in self.occupying if any(worker.node == node for worker in occupied(self.jobs[job])))
        return tuple(sorted(found))


def move_all(state: State, event: JobEvent | NodeEvent, jobs: Iterable[JobId]) -> Outcome:
    """Apply an event to each of these jobs."""
    moves = []
    for job in jobs:
        before = state.jobs[job]
        after, instructions = transition(before, event)
        if after is not before and after != before:
            move = Move(before, after, instructions)
            place(state, move, event.at_ms)
            moves.append(move)
    return Outcome(tuple(moves)) if moves else NOTHING


def place(state: State, move: Move, at_ms: int, tally: ArrayTally | None = None) -> None:
    """Replace the job's record everywhere. `tally` is given for a task of a new array."""
    after = move.after
    state.jobs[after.id] = after
    if after.state.holds_resources:
        state.occupying[after.id] = None
    else:
        state.occupying.pop(after.id, None)
    if after.array_parent is not None:
        array = state.arrays[after.array_parent] if tally is None else tally
        array.move(move.before, after)
    mirror(state.snapshot, move.before, after, at_ms)
    if state.starvation is not None:
        for job in state.starvation.follow(move.before, after, at_ms):
            state.starvation.note(state.jobs[job], at_ms)


def draining_among(nodes: Iterable[Node]) -> dict[NodeName, None]:
    """The nodes that become drained once nothing runs there."""
    return {node.name: None for node in nodes if node.state is NodeState.DRAINING}


def new_starvation_watch(snapshot: Snapshot) -> StarvationWatch:
    """A watch without jobs."""
    return StarvationWatch(snapshot.setting.gpu_milli, snapshot.entitlements)
