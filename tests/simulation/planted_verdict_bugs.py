"""Bugs in what verdicts on ranks and nodes do, planted like those in `planted_bugs.py`."""

from typing import Any

from muster.core.health import guarding
from muster.core.lifecycle import endings, verdicts
from muster.model.job import Cause
from muster.model.records import evolve
from muster.model.spec import Remedy
from tests.simulation.planted_bugs import Patch, Plant


def a_slow_rank_is_replaced_although_the_job_only_wants_to_know(patch: Patch) -> None:
    honest = verdicts._slowed

    def slowed(job: Any, event: Any) -> Any:
        after, commands = honest(evolve(job, spec=evolve(job.spec, on_straggler=Remedy.REPLACE)), event)
        return evolve(after, spec=job.spec), commands

    patch.setattr(verdicts, "_slowed", slowed)


def a_hang_ends_a_job_that_only_wants_to_know(patch: Patch) -> None:
    honest = verdicts._hung

    def hung(job: Any, event: Any) -> Any:
        after, commands = honest(evolve(job, spec=evolve(job.spec, on_hang=Remedy.RESTART)), event)
        return evolve(after, spec=job.spec), commands

    patch.setattr(verdicts, "_hung", hung)


def slow_ranks_restart_a_job_without_end(patch: Patch) -> None:
    patch.setattr(verdicts, "REMEDIES_PER_HOUR", 1_000)


def a_hang_costs_a_retry(patch: Patch) -> None:
    honest = endings._after

    def after(job: Any, cause: Cause, at_ms: int) -> Any:
        return honest(job, Cause.ERROR if cause is Cause.HANG else cause, at_ms)

    patch.setattr(endings, "_after", after)


def the_guard_lets_every_node_go(patch: Patch) -> None:
    patch.setattr(guarding, "nodes_out_most", lambda nodes, _: nodes)


PLANTED_IN_VERDICTS: dict[Plant, int] = {
    a_slow_rank_is_replaced_although_the_job_only_wants_to_know: 7,
    a_hang_ends_a_job_that_only_wants_to_know: 10,
    slow_ranks_restart_a_job_without_end: 143,
    a_hang_costs_a_retry: 3,
    the_guard_lets_every_node_go: 2,
}
"""As in `planted_bugs.py`."""
