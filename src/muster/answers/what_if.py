"""What would be otherwise: simulations and their figures."""

from dataclasses import dataclass
from typing import Annotated, Any

from muster.answers.base import Answer, Document
from muster.answers.marks import NEEDED, Items, Time


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfFigures(Answer):
    """The figures of one replay. Null where no job gives one."""

    jobs: int
    finished: int
    unfinished: int
    rejected: int
    """Jobs that could never run there."""
    wait_mean_s: float | None
    wait_p50_s: float | None
    wait_p99_s: float | None
    completion_mean_s: float | None
    """From submission to end."""
    makespan_s: float | None
    """From the first submission to the last end."""
    utilisation: float | None
    """The part of all GPU time that jobs had, while jobs came."""
    goodput: float | None
    preemptions_per_job: float | None
    lost: float | None
    """The part of the GPU time that was lost to restarts and to work done again."""
    wait_mean_by_team_s: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfRun(Answer):
    """A simulation."""

    id: Annotated[str, NEEDED]
    by: str
    made: Time
    state: str
    """`waiting`, `running`, `done`, `failed` or `cancelled`."""
    asked: Document
    """As it was asked for."""
    jobs: int
    """How many jobs are replayed."""
    done: float
    """The part of it that is done, from 0 to 1."""
    problem: str | None
    today: WhatIfFigures | None
    changed: WhatIfFigures | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyName(Answer):
    """A policy that can be asked for by name."""

    name: str
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfRuns(Answer):
    """The simulations that are known, and what can be asked for."""

    runs: Annotated[tuple[Any, ...], Items(WhatIfRun)]
    """The newest first."""
    policies: Annotated[tuple[Any, ...], Items(PolicyName)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportLink(Answer):
    """A link to a report for a frame of a page, which cannot send a token."""

    path: Annotated[str, NEEDED]
    """What follows the address of the server. It is good once."""
    expires: Time
