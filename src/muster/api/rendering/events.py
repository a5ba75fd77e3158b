"""Events as they are sent to people and dashboards, without the job files and rules that they contain in the log."""

import json
from dataclasses import dataclass
from typing import Any

from muster.answers.events import kind_of
from muster.api.problems.concealing import Concealing
from muster.api.rendering.times import seconds, time_of
from muster.api.rendering.workers import worker_bodies
from muster.formats.text.units import plain_number
from muster.live.publishing.feed import Published
from muster.model.events import (
    CheckpointDamaged,
    CheckpointEvent,
    CheckpointRemoved,
    CheckpointSaved,
    CheckpointUploaded,
    ClusterChanged,
    ClusterEvent,
    DependencyFailed,
    DependencyMet,
    Event,
    EvictionOrdered,
    GangAdopted,
    GangKillOrdered,
    GangsFound,
    HangFound,
    HangOver,
    HoldsSet,
    ImagePulled,
    JobStarted,
    JobStarved,
    JobSubmitted,
    JobUpdated,
    NodeChanged,
    NodeEvent,
    NodeLost,
    NodeReturned,
    NodeUnreachable,
    ReservationRemoved,
    ReservationSet,
    ResizeOrdered,
    RulesChanged,
    RuntimeFound,
    ShardsSaved,
    SparesSet,
    StartFailed,
    StragglerFound,
    StragglerGone,
    TimerFired,
    TurnCame,
    VerdictEvent,
    WorkerEvent,
    WorkersExited,
    WorkersStarted,
)
from muster.model.ids import JobId, TeamPath
from muster.model.requests import JobRequest

Body = dict[str, Any]
_TOLD = ("message", "because")
"""Fields with free text from Muster itself, which may name files of the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One event as it is sent, encoded once for all watchers that may see it."""

    version: int
    team: TeamPath | None
    """The team it belongs to; None when it concerns all teams."""
    job: JobId | None
    frame: bytes


def sent(version: int, published: Published, conceal: Concealing) -> Sent:
    """The event as a frame of an event stream."""
    body = event_body(version, published, conceal)
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    frame = f"id: {version}\nevent: {body['kind']}\ndata: {text}\n\n".encode()
    return Sent(version=version, team=body["team"], job=body["job"], frame=frame)


def event_body(version: int, published: Published, conceal: Concealing) -> Body:
    """The event as plain values."""
    event = published.event
    return {
        "version": version,
        "at": time_of(event.at_ms),
        "kind": kind_of(type(event).__name__),
        "job": getattr(event, "job", None),
        "team": published.team,
        "user": published.user or None,
        "by": getattr(event, "by", "") or None,
        **{key: conceal(value) if key in _TOLD and value else value for key, value in _details(event).items()},
    }


def _details(event: Event) -> Body:
    match event:
        case JobSubmitted() | JobUpdated() | JobStarted() | GangAdopted() | EvictionOrdered() | ResizeOrdered():
            return _decision(event)
        case (
            WorkersStarted()
            | WorkersExited()
            | StartFailed()
            | ImagePulled()
            | CheckpointSaved()
            | ShardsSaved()
            | CheckpointUploaded()
            | CheckpointDamaged()
            | CheckpointRemoved()
            | StragglerFound()
            | StragglerGone()
            | HangFound()
            | HangOver()
        ):
            return _report(event)
        case DependencyMet(dependency=dependency) | DependencyFailed(dependency=dependency):
            return {"dependency": dependency}
        case JobRequest() | GangKillOrdered() | TurnCame() | JobStarved() | TimerFired():
            return {}
        case _:
            return _of_cluster(event)


def _of_cluster(event: ClusterEvent) -> Body:
    match event:
        case HoldsSet(holds=holds):
            return {"holds": len(holds)}
        case SparesSet(nodes=nodes):
            return {"spares": list(nodes)}
        case ReservationSet(reservation=each):
            told = {"reservation": each.name, "nodes": list(each.nodes), "holder": each.holder}
            return {**told, "from": time_of(each.from_ms), "to": time_of(each.to_ms), "because": each.because or None}
        case ReservationRemoved(name=name, because=because):
            return {"reservation": name, "because": because or None}
        case ClusterChanged(cluster=cluster):
            return {"nodes": len(cluster.nodes)}
        case RulesChanged():
            return {}
        case _:
            return _of_node(event)


def _of_node(event: NodeEvent) -> Body:
    match event:
        case NodeChanged(node=node, because=because):
            return {"node": node.name, "state": node.state.value, "because": because or None}
        case (
            NodeUnreachable(node=name, because=because)
            | NodeReturned(node=name, because=because)
            | NodeLost(node=name, because=because)
        ):
            return {"node": name, "because": because or None}
        case RuntimeFound(node=name, runtime=runtime):
            return {"node": name, "runtime": runtime or None}
        case GangsFound(node=name, gangs=gangs):
            return {"node": name, "gangs": [f"{gang.job}, attempt {gang.attempt}" for gang in gangs]}


_Decision = JobSubmitted | JobUpdated | JobStarted | GangAdopted | EvictionOrdered | ResizeOrdered


def _decision(event: _Decision) -> Body:
    match event:
        case JobSubmitted(spec=spec):
            gpus = plain_number(spec.gang_gpu_milli)
            return {"name": spec.name, "tier": spec.tier, "priority": spec.priority, "gpus": gpus, "held": event.held}
        case JobUpdated(changes=changes):
            limit_ms = changes.max_duration_ms
            told = {
                "priority": changes.priority,
                "tier": changes.tier,
                "max_duration_s": None if limit_ms is None else seconds(limit_ms),
                "tags": None if changes.tags is None else dict(changes.tags),
            }
            return {"changes": {key: value for key, value in told.items() if value is not None}}
        case JobStarted(workers=workers) | GangAdopted(workers=workers) | ResizeOrdered(workers=workers):
            return {"attempt": event.attempt, "workers": worker_bodies(workers)}
        case EvictionOrdered():
            return {
                "attempt": event.attempt,
                "why": event.why.value,
                "by_time": time_of(event.by_ms),
                "lost_gpu_s": seconds(event.lost_gpu_ms),
                **({"because": event.because} if event.because else {}),
            }


def _verdict(event: VerdictEvent) -> Body:
    match event:
        case StragglerFound(straggler=slow):
            return {
                "rank": slow.rank,
                "node": slow.node,
                "gpus": list(slow.gpus),
                "slowdown": plain_number(slow.slowdown_milli),
                "since": time_of(slow.since_ms),
                "steps": slow.steps,
                "usual": plain_number(slow.usual_milli) if slow.usual_milli else None,
            }
        case StragglerGone():
            return {"rank": event.rank}
        case HangFound(hang=hang):
            told = {"since": time_of(hang.since_ms), "ranks": list(hang.ranks), "nodes": list(hang.nodes)}
            return {**told, "step": hang.step, "stacks": event.stacks or None}
        case HangOver():
            return {}


def _checkpoint(event: CheckpointSaved | ShardsSaved | CheckpointUploaded | CheckpointDamaged) -> Body:
    match event:
        case CheckpointSaved():
            return {"cost_s": seconds(event.cost_ms), "saved": time_of(event.saved_ms)}
        case ShardsSaved():
            parts = {"node": event.node, "world": event.world, "ranks": list(event.ranks), "bytes": event.bytes}
            return {"step": event.step, **parts, "cost_s": seconds(event.cost_ms)}
        case CheckpointUploaded():
            return {"step": event.step, "message": event.problem or None}
        case CheckpointDamaged():
            return {"step": event.step, "ranks": [event.rank], "message": event.problem}


def _report(event: WorkerEvent | CheckpointEvent | VerdictEvent) -> Body:
    if isinstance(event, CheckpointRemoved):
        return {"step": event.step}
    match event:
        case WorkersStarted():
            told: Body = {"ranks": list(event.ranks)}
        case WorkersExited():
            outcome = {"exit_code": event.exit_code, "oom": event.oom, "told": event.told, "timed_out": event.timed_out}
            message = event.because or event.problem
            told = {"ranks": list(event.ranks), **outcome, **({"message": message} if message else {})}
        case StartFailed():
            told = {"ranks": list(event.ranks), "message": event.message or None}
        case ImagePulled():
            told = {"node": event.node, "image": event.image, "took_s": seconds(event.took_ms)}
        case StragglerFound() | StragglerGone() | HangFound() | HangOver():
            told = _verdict(event)
        case _:
            told = _checkpoint(event)
    return {"attempt": event.attempt, **told}
