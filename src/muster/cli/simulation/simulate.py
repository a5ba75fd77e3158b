"""`muster simulate`: replay a trace under one or several policies and compare the outcomes of the jobs."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muster.cli.terminal.listing import OFFLINE, Listing
from muster.cli.terminal.options import Output
from muster.cli.terminal.screen import show_json
from muster.model.errors import InvalidInput
from muster.model.policy import Packing
from muster.sim.quantity import Quantity

if TYPE_CHECKING:
    from muster.cli.simulation.setup import ReplayOptions
    from muster.policies import NamedPolicy
    from muster.sim.outcome import Replay
    from muster.sim.report import About
    from muster.sim.variation import Setup

# The simulator and what it needs are imported when the command runs, so that the other commands start fast.
# ruff: noqa: PLC0415

SAMPLE = "sample"
TRACE_HELP = f"Who submitted what and when: CSV or SWF; {SAMPLE} is one to try."
TraceFile = Annotated[str, typer.Option("--trace", metavar="FILE", help=TRACE_HELP)]
Policies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="P[,P2…]",
        help="By name: fifo, greedy, easy, sjf-oracle, srsf-oracle, las, fair, muster, or of a plug-in. A file stands "
        "for what it has under policy: a scenario, or the muster.toml of a server. With --recommend it is the present "
        "policy, else that of the cluster file, else muster.",
    ),
]
Recommend = Annotated[
    bool,
    typer.Option(
        "--recommend",
        help="Try other settings of the policy on this history, and say which would have been better, if any. Nothing "
        "is changed.",
    ),
]
Since = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Only jobs that came so long before the last one, such as 14d. With --recommend 28d, unless given.",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster", metavar="C", help="75x8, a cluster file, or a scenario; else the .cluster.json beside the trace."
    ),
]
Printed = Annotated[
    Output, typer.Option("-o", "--output", help="json is one object, or a list if there are several replays.")
]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a report to open in a browser.")]
RestartCost = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="What each restart costs all GPUs of a job: 0s unless given, and with --recommend the restart_cost of the "
        "policy.",
    ),
]
SaveEvery = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        help="How often jobs save themselves, besides when they are told to leave. 0s: never, not even then, so who is "
        "stopped begins anew.",
    ),
]
SaveCost = Annotated[str, typer.Option(metavar="TIME", help="How long training stands still for each save.")]
Seed = Annotated[int, typer.Option(help="For everything that is left to chance.")]
Faults = Annotated[
    str,
    typer.Option(
        metavar="RATES",
        help="Such as mtbf=250d,repair=4h. Mean times, 0s for never: mtbf of a node, gpu of one GPU, straggler (a node "
        "is slow), spot (a spot node is taken); with repair=4h, straggler_time=2h, straggler_speed=0.5, notice=2m. "
        "Parts of 1: rack (failures that take the whole rack), crash and cancel (of jobs). See docs/SIMULATOR.md.",
    ),
]
Teams = Annotated[
    str | None, typer.Option(metavar="FILE", help="The team tree with quotas and weights; else the cluster file's.")
]
Synthesise = Annotated[bool, typer.Option("--synthesise", help="Make up users, tiers and priorities where missing.")]
Arrivals = Annotated[str, typer.Option(metavar="FACTOR", help="Let jobs come so many times as fast.")]
First = Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the first N jobs.")]
Vary = Annotated[
    str | None,
    typer.Option(
        metavar="KEY=A..B:STEP",
        help=f"One replay for each value of {', '.join(Quantity)}; it counts instead of the other option. "
        "Without :STEP only A and B.",
    ),
]
Packed = Annotated[
    Packing | None,
    typer.Option("--packing", help="Which nodes jobs get under every policy: least_harm, or best_fit as elsewhere."),
]
TypeBlind = Annotated[bool, typer.Option("--type-blind", help="Keep from the scheduler how fast GPU types are.")]

SAMPLE = "sample"
"""The name of the trace that comes with Muster."""

NO_RESTART_COST = "0s"
"""What restarts cost when policies are compared and nothing else is said."""

listing = Listing(OFFLINE)


@listing.add
def simulate(
    trace: TraceFile,
    policy: Policies = None,
    cluster: Cluster = None,
    output: Printed = Output.TABLE,
    html: Html = None,
    restart_cost: RestartCost = None,
    checkpoint_every: SaveEvery = "30m",
    checkpoint_cost: SaveCost = "0s",
    seed: Seed = 1,
    faults: Faults = "",
    teams: Teams = None,
    synthesise: Synthesise = False,
    arrivals: Arrivals = "1",
    first: First = None,
    vary: Vary = None,
    type_blind: TypeBlind = False,
    packing: Packed = None,
    since: Since = None,
    recommend: Recommend = False,
) -> None:
    """Replay a trace with the engine of the live system under a virtual clock, and compare policies."""
    from muster.cli.simulation.setup import ReplayOptions

    options = ReplayOptions(
        trace=_found(trace),
        policy=",".join(policy or ()),
        cluster=cluster,
        restart_cost=restart_cost or "",
        checkpoint_every=checkpoint_every,
        checkpoint_cost=checkpoint_cost,
        seed=seed,
        faults=faults,
        teams=teams,
        synthesise=synthesise,
        arrivals=arrivals,
        first=first,
        vary=vary,
        type_blind=type_blind,
        packing=packing,
        since=since,
    )
    if recommend:
        from muster.cli.simulation.recommend import recommend_settings

        recommend_settings(options, output, html)
    elif policy is None:
        raise InvalidInput("say which policies to compare, such as --policy muster,easy, or ask for --recommend")
    else:
        _compare(replace(options, restart_cost=restart_cost or NO_RESTART_COST), output, html)


def _found(trace: str) -> str:
    """The file of a trace. `sample` is the one that comes with Muster, unless there is a file of that name."""
    from muster.formats.traces.trace_file import sample_trace

    return str(sample_trace()) if trace == SAMPLE and not Path(SAMPLE).exists() else trace


def _compare(options: "ReplayOptions", output: Output, html: Path | None) -> None:
    """Replay what the options ask for, print the figures, and write the report if one is wanted."""
    from muster.cli.simulation.notes import (
        tell_besides,
        tell_columns,
        tell_ends,
        tell_hidden,
        tell_rows,
        tell_skipped,
        tell_unused,
    )
    from muster.cli.simulation.policies import policies_asked
    from muster.cli.simulation.setup import (
        cluster_source,
        input_files,
        rules_besides,
        setup_of,
        setups,
        surroundings,
    )
    from muster.cli.simulation.simulate import check_report_file

    policies = policies_asked(options.policy, options.packing)
    if html is not None:
        check_report_file(html, input_files(options))
    tell_hidden(policies)
    tell_besides(rules_besides(options))
    tell_ends(options.vary)
    around = surroundings(options)
    tell_unused(cluster_source(options), around.unused)
    base = setup_of(options, around)
    tell_skipped(base.trace)
    tell_columns(base.trace)
    tell_rows(base.trace)
    results = [(setup, _replay(setup, named)) for setup in setups(options, base) for named in policies]
    rows = [_figures(setup, made) for setup, made in results]
    _print(rows, results[0][0].varied, output)
    if html is not None:
        from muster.cli.simulation.facts import about

        _write_report(results, rows, html, base, about(options, base, policies, html))


Results = Sequence[tuple["Setup", "Replay"]]


def _replay(setup: "Setup", policy: "NamedPolicy") -> "Replay":
    """Replay one policy. Say which jobs could not take part."""
    from muster.cli.simulation.notes import tell_replay
    from muster.cli.simulation.progress import watched_replay

    what = policy.name if setup.varied is None else f"{policy.name}, {setup.varied[0]} {setup.varied[1]}"
    made = watched_replay(setup.arriving, setup.cluster, policy, setup.circumstances, what=what)
    tell_replay(made, what)
    return made


def _print(rows: list[dict[str, Any]], varied: tuple[str, float] | None, output: Output) -> None:
    from muster.cli.simulation.figures_table import print_figures

    if output is Output.JSON:
        show_json(rows[0] if len(rows) == 1 else rows)
    else:
        print_figures(rows, varied=None if varied is None else varied[0])


def _figures(setup: "Setup", made: "Replay") -> dict[str, Any]:
    from muster.sim.measures import measures

    figures = measures(made, setup.circumstances.teams)
    return figures if setup.varied is None else {**figures, setup.varied[0]: setup.varied[1]}


def _write_report(results: Results, rows: list[dict[str, Any]], path: Path, base: "Setup", about: "About") -> None:
    from muster.cli.simulation.facts import sweep
    from muster.cli.simulation.notes import tell_report
    from muster.sim.report import write_report

    try:
        write_report(
            [made for _, made in results],
            path,
            title=f"Replay of {results[0][1].trace}",
            summaries=rows,
            teams=base.circumstances.teams,
            sweep=sweep(base, [setup for setup, _ in results]),
            about=about,
        )
    except OSError as error:
        raise InvalidInput(f"{path}: the report cannot be written: {error.strerror}") from None
    tell_report(path)


def check_report_file(path: Path, inputs: Iterable[Path]) -> None:
    """Refuse a place where no report can be written, or where it would replace what the replay is made from."""
    if path.is_dir():
        raise _unwritable(path, "this is a folder; name a file in it")
    if path.exists() and not path.is_file():
        raise _unwritable(path, "this is not a regular file")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise _unwritable(path, f"there is no folder {path.parent}; make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _unwritable(path, f"the folder {path.parent} cannot be written to")
    if path.exists() and not os.access(path, os.W_OK):
        raise _unwritable(path, "the file that is there is protected")
    for each in inputs:
        if path.exists() and each.exists() and path.samefile(each):
            raise _unwritable(path, "it would replace an input of the replay; choose another name")


def _unwritable(path: Path, problem: str) -> InvalidInput:
    return InvalidInput(f"--html {path}: the report cannot be written: {problem}")
