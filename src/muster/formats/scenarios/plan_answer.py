"""A plan with its explanations -> the answer of `muster plan -o json`."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from muster.formats.text.units import plain_number, time_text
from muster.model.ids import JobId
from muster.model.job import Placement, Worker
from muster.model.plan import Eviction, Plan, Promise, Reason, Resize
from muster.model.scenario import Scenario

Answer = dict[str, Any]


class Explained(Protocol):
    """Why a job waits and when it may start. Times are milliseconds since 1970."""

    @property
    def job(self) -> JobId:
        """The job that waits."""

    @property
    def position(self) -> int:
        """Its place in the queue, counted from 1."""

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """All that keeps it waiting."""

    @property
    def p50_ms(self) -> int | None:
        """By when it has started with a chance of one half."""

    @property
    def p90_ms(self) -> int | None:
        """By when it has started with a chance of nine in ten."""


class RejectedJob(Protocol):
    """A job that can never run as it is written."""

    @property
    def job(self) -> JobId:
        """The job."""

    @property
    def code(self) -> str:
        """For programs."""

    @property
    def message(self) -> str:
        """For people."""


class Decided(Protocol):
    """The outcome of one cycle."""

    @property
    def plan(self) -> Plan:
        """What is to be done."""

    @property
    def explanations(self) -> Sequence[Explained]:
        """Why the waiting jobs wait."""

    @property
    def rejected(self) -> Sequence[RejectedJob]:
        """The jobs that can never run."""


def answer(
    plan: Plan, scenario: Scenario, explanations: Iterable[Explained], rejected: Iterable[RejectedJob]
) -> Answer:
    """The whole outcome of one cycle as plain values."""
    return {
        "now": time_text(scenario.now_ms),
        "starts": [{"job": start.job, "workers": _workers(start.workers)} for start in plan.starts],
        "evictions": [_eviction(eviction) for eviction in plan.evictions],
        "resizes": [_resize(resize) for resize in plan.resizes],
        "holds": [_promise(promise) for promise in plan.promises],
        "waiting": [_waiting(each) for each in explanations],
        "rejected": [{"job": each.job, "code": str(each.code), "message": each.message} for each in rejected],
    }


def _workers(workers: Placement) -> list[Answer]:
    return [_worker(worker) for worker in workers]


def _worker(worker: Worker) -> Answer:
    share = {} if worker.share_milli is None else {"share": plain_number(worker.share_milli)}
    return {"rank": worker.rank, "role": worker.role, "node": worker.node, "gpus": list(worker.gpus), **share}


def _eviction(eviction: Eviction) -> Answer:
    return {
        "job": eviction.job,
        "for": eviction.for_job,
        "why": eviction.why.value,
        "lost_gpu_s": plain_number(eviction.lost_gpu_ms),
    }


def _resize(resize: Resize) -> Answer:
    return {
        "job": resize.job,
        "from": resize.from_workers,
        "to": resize.to_workers,
        "for": resize.for_job,
        "workers": _workers(resize.workers),
    }


def _promise(promise: Promise) -> Answer:
    """A promise in the shape of the `holds` of a scenario."""
    return {
        "job": promise.job,
        "start": time_text(promise.start_ms),
        "nodes": list(promise.nodes),
        "workers": _workers(promise.workers),
        "made": time_text(promise.made_ms),
        "basis": promise.basis.value,
        **({"moved_because": promise.moved_because} if promise.moved_because else {}),
    }


def _waiting(explained: Explained) -> Answer:
    return {
        "job": explained.job,
        "position": explained.position,
        "reasons": [_reason(reason) for reason in explained.reasons],
        "estimate": {"p50": _moment(explained.p50_ms), "p90": _moment(explained.p90_ms)},
    }


def _reason(reason: Reason) -> Answer:
    detail = {"detail": reason.detail} if reason.detail else {}
    return {"code": reason.code.value, "message": reason.message, **detail, "would_help": reason.would_help}


def _moment(moment_ms: int | None) -> str | None:
    return None if moment_ms is None else time_text(moment_ms)
