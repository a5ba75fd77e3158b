"""Dependencies between jobs: which jobs a finished job releases or dooms, and whether a submission waits for itself."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from typing import assert_never

from muster.model.ids import JobId
from muster.model.job import JobState
from muster.model.spec import Dependency, DependencyWhen


class Fate(StrEnum):
    """What the state of one job means for another that depends on it."""

    PENDING = "pending"
    MET = "met"
    DOOMED = "doomed"
    """The job ended the wrong way, so the dependency can never be met."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What the end of one job decided for another."""

    job: JobId
    dependency: JobId
    fate: Fate


def fate(state: JobState, when: DependencyWhen) -> Fate:
    """What a job in this state means for a job that depends on it with `when`."""
    if not state.is_final:
        return Fate.PENDING
    match when:
        case DependencyWhen.SUCCEEDED:
            is_met = state is JobState.SUCCEEDED
        case DependencyWhen.FAILED:
            is_met = state in (JobState.FAILED, JobState.TIMED_OUT)
        case DependencyWhen.FINISHED:
            is_met = True
        case _:
            assert_never(when)
    return Fate.MET if is_met else Fate.DOOMED


def settle(
    ended: JobId, ending: JobState, dependents: Iterable[tuple[JobId, tuple[Dependency, ...]]]
) -> tuple[Settled, ...]:
    """The jobs that the end of a job releases or dooms, in the order given.

    If a job depends on it twice, the worse answer counts.
    """
    settled = []
    for job, depends_on in dependents:
        fates = [fate(ending, each.when) for each in depends_on if each.job == ended]
        if Fate.DOOMED in fates:
            settled.append(Settled(job=job, dependency=ended, fate=Fate.DOOMED))
        elif Fate.MET in fates:
            settled.append(Settled(job=job, dependency=ended, fate=Fate.MET))
    return tuple(settled)


def find_cycle(depends_on: Mapping[JobId, tuple[JobId, ...]]) -> tuple[JobId, ...]:
    """Jobs that wait for each other in a cycle, with the first repeated at the end; empty when there is no cycle.

    `depends_on` is a whole submission. A job that is not among its keys was submitted before and cannot be in a cycle.
    """
    try:
        _sorter(depends_on).prepare()
    except CycleError as error:
        return tuple(reversed(error.args[1]))
    return ()


def in_order(depends_on: Mapping[JobId, tuple[JobId, ...]]) -> tuple[JobId, ...]:
    """The jobs of a submission without cycles, each after the jobs it depends on."""
    return tuple(_sorter(depends_on).static_order())


def _sorter(depends_on: Mapping[JobId, tuple[JobId, ...]]) -> TopologicalSorter[JobId]:
    return TopologicalSorter(
        {job: [each for each in depends_on[job] if each in depends_on] for job in sorted(depends_on)}
    )
