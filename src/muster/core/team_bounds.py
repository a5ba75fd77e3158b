"""What a job may not ask for because of its team: a tier, a priority, or to be not preemptible.

Without these bounds a team member could give any job the highest tier and protect it from all preemption.
"""

from collections.abc import Mapping

from muster.model.ids import TeamPath
from muster.model.spec import JobChanges, JobSpec
from muster.model.team import Bounds, Team, bounds_of


def beyond_bounds(spec: JobSpec, teams: Mapping[TeamPath, Team]) -> str | None:
    """What in a job file its team may not ask for, and what to do about it; None when all of it is allowed."""
    bounds = bounds_of(spec.team, teams)
    asked = JobChanges(tier=spec.tier, priority=spec.priority)
    problem = _beyond(spec.team, asked, bounds)
    if problem is None and not spec.preemptible and not bounds.allow_unpreemptible:
        problem = f"team {spec.team} may not run jobs that are not preemptible; leave preemptible: false out"
    return None if problem is None else f"{problem}, or ask an operator to allow it to the team"


def change_beyond_bounds(spec: JobSpec, changes: JobChanges, teams: Mapping[TeamPath, Team]) -> str | None:
    """The same for a change of a job. Only another tier or a higher priority counts: the job itself was admitted."""
    asked = JobChanges(
        tier=None if changes.tier == spec.tier else changes.tier,
        priority=None if changes.priority is None or changes.priority <= spec.priority else changes.priority,
    )
    problem = _beyond(spec.team, asked, bounds_of(spec.team, teams))
    return None if problem is None else f"{problem}, or ask an operator to change the job"


def _beyond(team: TeamPath, asked: JobChanges, bounds: Bounds) -> str | None:
    if asked.tier is not None and bounds.tiers is not None and asked.tier not in bounds.tiers:
        allowed = ", ".join(bounds.tiers) or "none"
        return f"team {team} may not use tier {asked.tier}; it may use {allowed}: choose one of these"
    if asked.priority is not None and bounds.max_priority is not None and asked.priority > bounds.max_priority:
        return f"team {team} may not use priority {asked.priority}; use at most {bounds.max_priority}"
    return None
