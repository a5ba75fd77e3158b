"""What `muster simulate` was asked for, in words, for readers of the report."""

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from muster import __version__
from muster.cli.simulation.notes import special_rows
from muster.cli.simulation.setup import ReplayOptions, cluster_source
from muster.formats.rules.cluster_file import is_size
from muster.model.node import ClusterSpec
from muster.policies import NamedPolicy
from muster.sim.report import About, Sweep
from muster.sim.report.figures.wording import count_text, decimal_text, duration_text, list_text
from muster.sim.variation import Setup

MADE_UP = (
    "Users, job names, tiers and priorities were made up where the trace has none (--synthesise): what is said about "
    "them is true of this replay and not of those who submitted the jobs."
)


def about(options: ReplayOptions, base: Setup, policies: Sequence[NamedPolicy], html: Path) -> About:
    """Everything that determines the figures. `base` is what would be replayed if nothing were varied."""
    facts = [
        ("Trace", _trace_text(options, base)),
        *(("Rows of the trace", text) for text in special_rows(base.trace)),
        (
            "Arrivals",
            "as in the trace" if options.arrivals == "1" else f"{options.arrivals} times as fast as in the trace",
        ),
        ("Cluster", _cluster_text(options, base.cluster)),
        ("Varied", options.vary or "nothing"),
        *((f"Policy {policy.name}", policy.summary) for policy in policies),
        ("Packing", list_text(list(dict.fromkeys(policy.rules.packing.value for policy in policies)))),
        *_habits(base),
        ("Faults", options.faults or "none"),
        ("Teams", _teams_text(options, base)),
        ("Speeds of GPU types", "kept from the scheduler (--type-blind)" if options.type_blind else "known beforehand"),
        ("Users and tiers", "made up where missing (--synthesise)" if options.synthesise else "as in the trace"),
        ("Seed", str(options.seed)),
        ("Muster", __version__),
    ]
    return About(
        facts=facts,
        command=command(options, html),
        made_up=MADE_UP if options.synthesise else "",
    )


def command(options: ReplayOptions, html: Path) -> str:
    """The command line with every setting, also defaults that the user did not give, because they may change later."""
    words = ["muster", "simulate"]
    for field in fields(options):
        value = getattr(options, field.name)
        option = f"--{field.name.replace('_', '-')}"
        match value:
            case None | False | "":
                pass
            case True:
                words.append(option)
            case _:
                words += (option, str(value))
    return shlex.join([*words, "--html", str(html)])


def sweep(base: Setup, setups: Sequence[Setup]) -> Sweep | None:
    """What was varied over these setups, one for each replay. None if nothing was, or if there is only one value."""
    varied = [setup.varied for setup in setups if setup.varied is not None]
    if len({value for _, value in varied}) < 2:
        return None
    quantity = varied[0][0]
    return Sweep(quantity=quantity, values=[value for _, value in varied], present=base.amount(quantity))


def _trace_text(options: ReplayOptions, base: Setup) -> str:
    jobs = len(base.trace.jobs)
    some = count_text(jobs, "job") if options.first is None else f"the first {count_text(jobs, 'job')}"
    period = "" if options.since is None else f" of the last {options.since}"
    skipped = f"; {base.trace.skipped:,} left out that have no run time or no GPUs" if base.trace.skipped else ""
    return f"{options.trace}, {some}{period}{skipped}"


def _cluster_text(options: ReplayOptions, cluster: ClusterSpec) -> str:
    """How many nodes of which kind, and what is above them."""
    kinds = Counter((node.gpus, str(node.gpu_type)) for node in cluster.nodes)
    shape = list_text(
        [f"{count_text(nodes, 'node')} with {f'{gpus} {kind}'.strip()} GPUs" for (gpus, kind), nodes in kinds.items()]
    )
    levels = [
        count_text(len({node.domains[: depth + 1] for node in cluster.nodes}), str(level))
        for depth, level in enumerate(cluster.levels)
    ]
    above = f" in {list_text(levels)}" if levels else ", nothing known about racks"
    source = cluster_source(options)
    return f"{shape}{above}" if is_size(source) else f"{source}: {shape}{above}"


def _habits(base: Setup) -> list[tuple[str, str]]:
    habits = base.circumstances.habits
    every = f"every {duration_text(habits.save_every_ms / 1000)}" if habits.save_every_ms else "never"
    cost = duration_text(habits.save_cost_ms / 1000)
    return [
        ("Cost of a restart", duration_text(habits.restart_cost_ms / 1000)),
        ("Jobs save", f"{every}, training stands still for {cost}" if habits.save_every_ms else every),
    ]


def _teams_text(options: ReplayOptions, base: Setup) -> str:
    teams = base.circumstances.teams
    if not teams:
        return "no quotas or weights"
    weights = list_text([f"{team.path} {decimal_text(team.weight / 1000)}" for team in teams])
    return f"{options.teams or cluster_source(options)}; weights: {weights}"
