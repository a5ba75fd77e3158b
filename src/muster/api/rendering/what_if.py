"""Simulations as they are sent."""

from collections.abc import Mapping
from typing import Any

from muster.answers.what_if import WhatIfFigures, WhatIfRun
from muster.api.rendering.times import moment_of
from muster.api.what_if.simulations import Simulation


def run_body(run: Simulation) -> WhatIfRun:
    """A simulation, as far as it is."""
    figures = run.figures
    return WhatIfRun(
        id=run.id,
        by=run.by,
        made=moment_of(run.made_ms),
        state=run.state,
        asked=dict(run.asked),
        jobs=run.jobs,
        done=run.done,
        problem=run.problem or None,
        today=_figures(figures["today"]) if figures else None,
        changed=_figures(figures["changed"]) if figures else None,
    )


def _figures(row: Mapping[str, Any]) -> WhatIfFigures:
    return WhatIfFigures(
        jobs=row["jobs"],
        finished=row["finished"],
        unfinished=row["unfinished"],
        rejected=row["rejected"],
        wait_mean_s=row["first_wait_s"]["mean"],
        wait_p50_s=row["first_wait_s"]["p50"],
        wait_p99_s=row["first_wait_s"]["p99"],
        completion_mean_s=row["jct_s"]["mean"],
        makespan_s=row["makespan_s"],
        utilisation=row["utilisation"],
        goodput=row["goodput"],
        preemptions_per_job=row["preemptions_per_job"],
        lost=row["lost_fraction"],
        wait_mean_by_team_s={
            team: each["mean"] for team, each in row["wait_by_team_s"].items() if each["mean"] is not None
        },
    )
