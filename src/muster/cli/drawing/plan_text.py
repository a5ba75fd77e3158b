"""A decision for people: the cluster, what starts, what leaves, what is promised, and why the other jobs wait."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table

from muster.cli.drawing.cluster_map import MapCell, cluster_map, tally
from muster.cli.terminal.screen import screen
from muster.cli.terminal.text import Text
from muster.formats.scenarios.plan_answer import Decided, Explained
from muster.formats.text.ranges import node_ranges, worker_range_value
from muster.formats.text.units import DURATION_UNITS_MS, plain_number, time_text
from muster.model.ids import JobId
from muster.model.job import Placement
from muster.model.plan import Basis, Plan, Reason
from muster.model.scenario import Scenario
from muster.model.spec import JobSpec

WAITING_SHOWN = 20
"""How many waiting jobs are shown unless all are asked for."""

_BASIS = {Basis.LIMITS: "time limits of what runs there", Basis.DEPARTURES: "once those told to leave are gone"}

Specs = Mapping[JobId, JobSpec]


def print_decision(scenario: Scenario, decision: Decided, *, explain: bool, console: Console | None = None) -> None:
    """Print the whole decision. `explain` shows every waiting job, however many there are."""
    console = console or screen()
    specs = {job.id: job.spec for job in scenario.running} | {job.id: job.spec for job in scenario.waiting}
    console.print(_headline(scenario, decision))
    for title, body in _sections(scenario, decision, specs, console, explain=explain):
        console.print()
        console.print(Text(title, style="bold"))
        console.print(Padding(body, (0, 0, 0, 2), expand=False))


def _headline(scenario: Scenario, decision: Decided) -> Text:
    counts = tally(scenario, decision.plan)
    total = sum(counts.values())
    gone = counts[MapCell.BAD] + counts[MapCell.OUT]
    plan = decision.plan
    outcome = f"{len(plan.starts)} start, {len(plan.evictions)} leave, {len(plan.promises)} promised"
    return Text.assemble(
        (f"{time_text(scenario.now_ms)}  ", "bold"),
        f"{len(scenario.cluster.nodes)} nodes, {total} GPUs: {counts[MapCell.FREE]} free, {gone} unusable\n",
        f"{outcome}, {len(decision.explanations)} wait, {len(decision.rejected)} rejected",
    )


def _sections(
    scenario: Scenario, decision: Decided, specs: Specs, console: Console, *, explain: bool
) -> Iterator[tuple[str, RenderableType]]:
    plan = decision.plan
    yield "Cluster", cluster_map(scenario, plan, console)
    if plan.starts:
        yield f"Starts now ({len(plan.starts)})", _starts(plan, specs)
    if plan.evictions:
        yield f"Must leave ({len(plan.evictions)})", _evictions(plan, scenario)
    if plan.resizes:
        yield f"Change size ({len(plan.resizes)})", _resizes(plan)
    if plan.promises:
        yield f"Promised ({len(plan.promises)})", _promises(plan, specs, scenario.now_ms)
    if decision.explanations:
        shown = decision.explanations if explain else decision.explanations[:WAITING_SHOWN]
        yield f"Waiting ({len(decision.explanations)})", _waiting(shown, specs, scenario.now_ms)
        if len(shown) < len(decision.explanations):
            yield f"… and {len(decision.explanations) - len(shown)} more wait", Text("--explain shows all of them")
    if decision.rejected:
        yield f"Rejected ({len(decision.rejected)})", _rejected(decision)


def _starts(plan: Plan, specs: Specs) -> Table:
    table = _table("job", "team", "tier", "asks for", "on")
    for start in plan.starts:
        nodes = node_ranges(worker.node for worker in start.workers)
        table.add_row(Text(start.job, style="green"), *_who(specs.get(start.job)), nodes)
    return table


def _evictions(plan: Plan, scenario: Scenario) -> Table:
    table = _table("job", "team", "tier", "GPUs", "for", "because of", "loses")
    running = {job.id: job for job in scenario.running}
    for eviction in plan.evictions:
        job = running[eviction.job]
        lost = f"{eviction.lost_gpu_ms / DURATION_UNITS_MS['h']:.1f} GPU-h"
        who = (Text(job.id, style="red"), job.spec.team, job.spec.tier, _gpus(job.workers))
        table.add_row(*who, eviction.for_job, eviction.why.value, lost)
    return table


def _gpus(workers: Placement) -> str:
    """How many GPUs a gang has, shares included."""
    return str(plain_number(sum(worker.gpu_milli for worker in workers)))


def _resizes(plan: Plan) -> Table:
    table = _table("job", "workers", "for")
    for resize in plan.resizes:
        table.add_row(resize.job, f"{resize.from_workers} to {resize.to_workers}", resize.for_job or "")
    return table


def _promises(plan: Plan, specs: Specs, now_ms: int) -> Table:
    table = _table("job", "asks for", "starts by", "on", "rests on")
    for promise in plan.promises:
        wants = _asks_for(specs[promise.job]) if promise.job in specs else ""
        basis = f"{_BASIS[promise.basis]}; {promise.moved_because}" if promise.moved_because else _BASIS[promise.basis]
        table.add_row(
            Text(promise.job, style="yellow"), wants, _when(promise.start_ms, now_ms), node_ranges(promise.nodes), basis
        )
    return table


def _waiting(explained: Sequence[Explained], specs: Specs, now_ms: int) -> Table:
    """A row for each job and, below it, a row for each of its reasons with what would help."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(ratio=1)
    for each in explained:
        spec = specs.get(each.job)
        who = "  ".join(filter(None, _who(spec)))
        head = Text.assemble((each.job, "bold"), f"  {who}", (_estimate(each, now_ms), "dim"))
        table.add_row(str(each.position), head)
        for reason in each.reasons:
            table.add_row("", _reason(reason))
    return table


def _reason(reason: Reason) -> Padding:
    text = Text.assemble((reason.code.value, "yellow"), f": {reason.message}")
    if reason.detail:
        text.append(f"\n{reason.detail}", style="dim")
    if reason.would_help:
        text.append(f"\nwould help: {reason.would_help}", style="italic")
    return Padding(text, (0, 0, 0, 2))


def _rejected(decision: Decided) -> Table:
    table = _table("job", "code", "message")
    for each in decision.rejected:
        table.add_row(Text(each.job, style="red"), str(each.code), each.message)
    return table


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def _who(spec: JobSpec | None) -> tuple[str, str, str]:
    return ("", "", "") if spec is None else (spec.team, spec.tier, _asks_for(spec))


def _asks_for(spec: JobSpec) -> str:
    """`4 x 8 h100`: workers times what each of them needs, role by role."""
    parts = []
    for role in spec.roles:
        types = "/".join(role.request.gpu_types) or "GPU"
        each = f"{plain_number(role.request.gpu_milli)} {types}" if role.request.gpu_milli else "no GPU"
        parts.append(f"{worker_range_value(role.workers_min, role.workers_max)} x {each}")
    return " + ".join(parts)


def _estimate(explained: Explained, now_ms: int) -> str:
    if explained.p50_ms is None:
        return ""
    likely = f"  likely to start {_when(explained.p50_ms, now_ms)}"
    return likely if explained.p90_ms is None else f"{likely}, nine times in ten {_when(explained.p90_ms, now_ms)}"


def _when(moment_ms: int, now_ms: int) -> str:
    """`in 2h10m`, by the two largest units that matter."""
    rest = max(0, moment_ms - now_ms)
    parts = []
    for unit in ("d", "h", "m", "s"):
        count, rest = divmod(rest, DURATION_UNITS_MS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return f"in {''.join(parts[:2])}" if parts else "now"
