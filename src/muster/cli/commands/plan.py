"""`muster plan`: one cycle over a scenario file, offline."""

from collections.abc import Callable
from typing import Annotated

import typer

from muster.cli.drawing.plan_text import print_decision
from muster.cli.terminal.listing import OFFLINE, Listing
from muster.cli.terminal.options import Output
from muster.cli.terminal.screen import show_ids, show_json
from muster.formats.scenarios.plan_answer import Decided, answer
from muster.formats.scenarios.scenario_file import read_scenario
from muster.model.scenario import Scenario

Planner = Callable[[Scenario], Decided]

listing = Listing(OFFLINE)


def planner(*, in_full: bool) -> Planner:
    """The planning core, imported only when it is needed so that the other commands start fast."""
    from muster.core.offline import decide, decide_in_full  # noqa: PLC0415

    return decide_in_full if in_full else decide


@listing.add
def plan(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A scenario in YAML, JSON or TOML; - reads standard input.")
    ],
    output: Annotated[Output, typer.Option("-o", "--output", help="How to print the answer.")] = Output.TABLE,
    explain: Annotated[bool, typer.Option("--explain", help="Say why for every waiting job.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print only the ids of the jobs that start.")] = False,
) -> None:
    """Decide what would start, leave and wait in the situation that FILE describes."""
    scenario = read_scenario(file)
    decision = planner(in_full=explain)(scenario)
    if output is Output.JSON:
        show_json(answer(decision.plan, scenario, decision.explanations, decision.rejected))
    elif quiet:
        show_ids(start.job for start in decision.plan.starts)
    else:
        print_decision(scenario, decision, explain=explain)
