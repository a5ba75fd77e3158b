"""Folds events about nodes: whether each node can be reached, and what it runs."""

from collections.abc import Iterable
from typing import assert_never

from muster.core.health import as_judged, takes_out
from muster.core.lifecycle import desired_commands, unknown_workers
from muster.engine.folding.state import NOTHING, Outcome, State, move_all
from muster.model.events import (
    BY_ENGINE,
    CONFIGURATION,
    ENGINE,
    HEALTH,
    GangAdopted,
    GangKillOrdered,
    GangsFound,
    NodeChanged,
    NodeEvent,
    NodeLost,
    NodeReturned,
    NodeUnreachable,
    RuntimeFound,
    StartFailed,
    WorkersExited,
)
from muster.model.ids import NodeName
from muster.model.instructions import KillWorkers
from muster.model.job import Job
from muster.model.machines.quarantine import FoundGang, SeenJob
from muster.model.node import VERDICTS_KEPT, HealthRecord, Node, NodeState
from muster.model.records import evolve

_BY_ITSELF = ("", ENGINE, HEALTH)
"""Authors that are no operators."""


def fold_node_event(state: State, event: NodeEvent) -> Outcome:
    """Apply an event about a node."""
    match event:
        case NodeChanged():
            return _change(state, event)
        case NodeUnreachable():
            return _lose_contact(state, event)
        case NodeReturned():
            return _regain_contact(state, event)
        case NodeLost():
            return _lose_node(state, event)
        case GangsFound():
            return _take_stock(state, event)
        case RuntimeFound():
            return _note_runtime(state, event)
        case _:
            assert_never(event)


def _note_runtime(state: State, event: RuntimeFound) -> Outcome:
    """Note which container runtime a node has. Nothing else about it changes."""
    node = state.nodes.get(event.node)
    return NOTHING if node is None else _change_node(state, evolve(node, runtime=event.runtime), event.at_ms)


def _take_stock(state: State, event: GangsFound) -> Outcome:
    """Compare what a node runs with the records, and quarantine what they do not know."""
    parts = (_unknown_part(state, gang, event.node) for gang in event.gangs)
    unknown = tuple(part for part in parts if part.workers)
    jobs = [gang.job for gang in (*state.quarantine.on(event.node), *event.gangs)]
    concerned = dict.fromkeys((*jobs, *(each.job for each in event.seen)))
    moves = move_all(state, event, [job for job in concerned if job in state.jobs]).moves
    is_news = state.quarantine.put(event.node, unknown)
    if is_news:
        _show_to_planning(state, (event.node,))
    # A node that has seen a newer generation refused what was sent. It is sent again with a higher one.
    raised = (move.after for move in moves if move.before is None or move.before.generation < move.after.generation)
    commands = tuple(command for job in raised for command in desired_commands(job, event.at_ms))
    return Outcome(moves, commands, is_change=is_news or bool(moves))


def _unknown_part(state: State, gang: FoundGang, node: NodeName) -> FoundGang:
    job = state.jobs.get(gang.job)
    return gang if job is None else evolve(gang, workers=unknown_workers(job, gang, node))


def release(state: State, event: WorkersExited | StartFailed, outcome: Outcome) -> Outcome:
    """Remove workers that have ended from quarantine, if they were in it."""
    nodes = state.quarantine.release(event.job, event.attempt, frozenset(event.ranks))
    _show_to_planning(state, nodes)
    return Outcome(outcome.moves, outcome.commands) if nodes else outcome


def adopt(state: State, event: GangAdopted) -> Outcome:
    """Take a gang out of quarantine, and let its job continue with it."""
    ranks = frozenset(worker.rank for worker in event.workers)
    _show_to_planning(state, state.quarantine.release(event.job, event.attempt, ranks))
    return move_all(state, event, state.addressed(event.job))


def doom(state: State, event: GangKillOrdered) -> Outcome:
    """Kill what a job has in quarantine, now and whenever a node is back that may not have received the command."""
    nodes = state.quarantine.doom(event.job)
    kills = tuple(kill for node in nodes for kill in state.quarantine.kills(node, state.jobs))
    return Outcome(commands=kills) if kills else NOTHING


def _show_to_planning(state: State, nodes: Iterable[NodeName]) -> None:
    for node in nodes:
        if node in state.nodes:
            state.snapshot.change_node(state.planned(state.nodes[node]))


def set_spares(state: State, nodes: tuple[NodeName, ...]) -> Outcome:
    """Keep these nodes as spares, as far as they exist, and no others."""
    before, after = state.spares, tuple(name for name in nodes if name in state.nodes)
    if before == after:
        return NOTHING
    state.spares = after
    _show_to_planning(state, dict.fromkeys((*before, *after)))
    return Outcome()


def _lose_contact(state: State, event: NodeUnreachable) -> Outcome:
    node = state.nodes.get(event.node)
    if node is None or node.state is NodeState.DOWN:
        return NOTHING
    return _hear_of_node(state, event, evolve(node, state=NodeState.DOWN))


def _change(state: State, event: NodeChanged) -> Outcome:
    """A node is as an operator, the backend or health says, as far as each may say it."""
    name, before = event.node.name, state.nodes.get(event.node.name)
    if event.by == HEALTH:
        if before is None:
            return NOTHING
        node = as_judged(before, event.node, state.set_aside.get(name))
    else:
        node = _as_configured(state, event)
    condemns = event.condemns and before is not None and before.state is not node.state
    outcome = _hear_of_node(state, evolve(event, node=node, condemns=condemns), node)
    has_other_author = _note_author(state, event.by, before, node)
    if not outcome.is_change and not has_other_author:
        return NOTHING
    if has_other_author:
        state.node_notes[name] = event.because
    if event.by == HEALTH and before is not None and takes_out(before, node):
        _remember(state, name, verdicts_ms=event.at_ms)
    if event.by not in _BY_ITSELF and node.state.takes_work:
        _remember(state, name, overruled_ms=event.at_ms)
    return outcome if outcome.is_change else Outcome()


def _regain_contact(state: State, event: NodeReturned) -> Outcome:
    node = state.nodes.get(event.node)
    if node is None or node.state is not NodeState.DOWN:
        return NOTHING
    back = NodeState.DRAINED if node.name in state.set_aside else NodeState.READY
    return _hear_of_node(state, event, evolve(node, state=back))


def _hear_of_node(state: State, event: NodeChanged | NodeUnreachable | NodeReturned, node: Node) -> Outcome:
    """Replace the record of a node, and let its jobs react to the change."""
    before = state.nodes.get(node.name)
    if not _change_node(state, node, event.at_ms).is_change:
        return NOTHING
    state.node_notes[node.name] = event.because
    was_down, is_down = before is not None and before.state is NodeState.DOWN, node.state is NodeState.DOWN
    if is_down and not was_down:
        # What it ran when it was lost before was killed when it came back.
        state.lost.pop(node.name, None)
    is_condemned = isinstance(event, NodeChanged) and event.condemns
    if before is None or not (is_condemned or _matters_to_jobs(before, node)):
        return Outcome()
    moves = move_all(state, event, state.jobs_on(node.name)).moves
    commands = state.commands_on(node.name, event.at_ms) if was_down and not is_down else ()
    return Outcome(moves, commands)


def _matters_to_jobs(before: Node, node: Node) -> bool:
    """True when jobs on the node react to the change: it is down or back, has other bad GPUs, or may take no work."""
    is_down_or_back = (before.state is NodeState.DOWN) != (node.state is NodeState.DOWN)
    is_other = before.bad_gpus != node.bad_gpus or before.state.takes_work != node.state.takes_work
    return is_down_or_back or is_other


def _as_configured(state: State, event: NodeChanged) -> Node:
    """The node as reported. If it was taken out of service, it stays out when it merely comes back.

    An engine brings back what it has taken out itself, and nothing else.
    """
    node, whose = event.node, state.set_aside.get(event.node.name)
    if node.state is not NodeState.READY or whose is None:
        return node
    if event.by in _BY_ITSELF:
        return evolve(node, state=NodeState.DRAINED)
    if event.by.startswith(BY_ENGINE) and whose != event.by:
        known = state.nodes.get(node.name)
        is_out = known is not None and known.state in (NodeState.DRAINING, NodeState.DRAINED, NodeState.PROBATION)
        return evolve(node, state=known.state if known is not None and is_out else NodeState.DRAINED)
    return node


def _note_author(state: State, by: str, before: Node | None, node: Node) -> bool:
    """Note who has taken a node out of service, or that it is back. False when that is no news."""
    whose = state.set_aside.get(node.name)
    if by in ("", ENGINE) or node.state is NodeState.DOWN:
        return False
    if by.startswith(BY_ENGINE) and whose not in (None, by):
        return False
    is_new = before is None or before.state is not node.state
    if node.state.takes_work:
        state.set_aside.pop(node.name, None)
    elif by != HEALTH or (is_new and node.state is NodeState.DRAINING):
        state.set_aside[node.name] = by
    return state.set_aside.get(node.name) != whose


def _remember(
    state: State,
    name: NodeName,
    *,
    since_ms: int | None = None,
    overruled_ms: int | None = None,
    verdicts_ms: int | None = None,
) -> None:
    """Note what happened to a node, for its health."""
    known = state.node_health.get(name, HealthRecord())
    verdicts = known.verdicts_ms if verdicts_ms is None else (*known.verdicts_ms, verdicts_ms)[-VERDICTS_KEPT:]
    state.node_health[name] = HealthRecord(
        since_ms=known.since_ms if since_ms is None else since_ms,
        overruled_ms=known.overruled_ms if overruled_ms is None else overruled_ms,
        verdicts_ms=verdicts,
    )


def _change_node(state: State, node: Node, at_ms: int) -> Outcome:
    before = state.nodes.get(node.name)
    if before == node:
        return NOTHING
    if before is not None and before.state is not node.state:
        _remember(state, node.name, since_ms=at_ms)
    state.nodes[node.name] = node
    if node.state is NodeState.DRAINING:
        state.draining[node.name] = None
    else:
        state.draining.pop(node.name, None)
    state.snapshot.change_node(state.planned(node))
    if state.starvation is not None:
        state.starvation.resize(state.snapshot.setting.gpu_milli, state.now_ms)
    return Outcome()


def _lose_node(state: State, event: NodeLost) -> Outcome:
    node = state.nodes.get(event.node)
    if node is None:
        return NOTHING
    is_news = _change_node(state, evolve(node, state=NodeState.DOWN), event.at_ms).is_change
    strays = [gang.job for gang in state.quarantine.on(event.node) if gang.job in state.jobs]
    outcome = move_all(state, event, sorted({*state.jobs_on(event.node), *strays}))
    is_emptied = state.quarantine.put(event.node, ())
    if is_emptied:
        _show_to_planning(state, (event.node,))
    sent = (instruction for move in outcome.moves for instruction in move.instructions)
    kills = tuple(instruction for instruction in sent if isinstance(instruction, KillWorkers))
    is_change = is_news or outcome.is_change or is_emptied
    if is_change:
        state.lost[event.node] = kills if is_news else (*state.lost.get(event.node, ()), *kills)
        state.node_notes[event.node] = event.because
    return Outcome(moves=outcome.moves, is_change=is_change)


def with_findings(nodes: Iterable[Node], state: State) -> tuple[Node, ...]:
    """Nodes as configured, with what was found out about each: bad GPUs, and that it is suspect or out of service.

    A state and bad GPUs that the configuration names count when it names them for the first time. After that, what
    operators and health say of the node counts, until the configuration says something else.
    """
    last = () if state.configured_cluster is None else state.configured_cluster.nodes
    before = {node.name: node for node in last}
    return tuple(_with_finding(node, before.get(node.name, Node(name=node.name)), state) for node in nodes)


def _with_finding(node: Node, before: Node, state: State) -> Node:
    """The node as configured. `before` is what the configuration last said of it."""
    known = state.nodes.get(node.name)
    if known is None:
        return node
    found = {gpu for gpu in known.bad_gpus if gpu < node.gpus and gpu not in before.bad_gpus}
    named = {gpu for gpu in node.bad_gpus if gpu in known.bad_gpus or gpu not in before.bad_gpus}
    return evolve(
        node,
        state=_state_now(node, known, before, state),
        bad_gpus=tuple(sorted({*found, *named})),
        runtime=known.runtime,
        used_by_others=tuple(gpu for gpu in known.used_by_others if gpu < node.gpus),
    )


def _state_now(node: Node, known: Node, before: Node, state: State) -> NodeState:
    if node.state is not before.state:
        return node.state
    if known.state is NodeState.DOWN:
        return NodeState.DRAINED if node.name in state.set_aside else NodeState.READY
    return known.state


def set_aside_as_configured(state: State, nodes: Iterable[Node]) -> None:
    """Note which nodes the configuration takes out of service, so that they stay out when they merely come back."""
    for node in nodes:
        if node.state.takes_work:
            state.set_aside.pop(node.name, None)
        elif node.state is not NodeState.DOWN:
            state.set_aside.setdefault(node.name, CONFIGURATION)


def of_interest(event: GangsFound, state: State) -> GangsFound:
    """The report of a node, without the jobs it has only heard of, unless it has heard more than is known here."""
    known = ((each, state.jobs.get(each.job)) for each in event.seen)
    return evolve(event, seen=tuple(each for each, job in known if job is not None and _is_behind(job, each)))


def _is_behind(job: Job, seen: SeenJob) -> bool:
    """True when a node has heard more about a job than the job's record says."""
    if job.state.is_final:
        return False
    has_other_ranks = job.state.holds_resources and seen.attempt == job.attempt and seen.next_rank > job.next_rank
    return has_other_ranks or seen.attempt > job.attempt or seen.generation > job.generation
