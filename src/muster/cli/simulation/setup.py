"""From the options of `muster simulate` to what is to be replayed."""

import re
from collections.abc import Set
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

from muster.cli.simulation.policies import policy_files
from muster.estimates.training import Habits
from muster.formats.rules.cluster_file import cluster_from_text, is_size
from muster.formats.rules.part_files import cluster_and_teams, read_teams
from muster.formats.scenarios.references import read_references
from muster.formats.scenarios.scenario_wire import ScenarioWire
from muster.formats.text.document import Problems, read_document
from muster.formats.text.units import BadValue, duration_ms
from muster.formats.traces.trace_file import read_trace, trace_name
from muster.model.errors import InvalidInput
from muster.model.node import ClusterSpec
from muster.model.policy import DEFAULT_TIERS, Packing, Pool, Tier
from muster.model.records import evolve
from muster.model.spec import DEFAULT_TEAM
from muster.model.team import Team
from muster.model.trace import Trace
from muster.sim.faults import FaultRates, fault_rates
from muster.sim.replay import Circumstances
from muster.sim.synthesis import with_made_up
from muster.sim.variation import Setup, variations

TEAMS_SHOWN = 5
_LIKE_SIZE = re.compile(r"[-+0-9x×*., ]*[0-9]", re.IGNORECASE)
"""A user who writes nothing but numbers means a size, not a file."""
SCENARIO_KEYS = frozenset(ScenarioWire.model_fields)
USED_KEYS = frozenset({"cluster", "teams", "pools", "tiers"})
"""What a replay takes from a scenario."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """The options as they were given."""

    trace: str
    policy: str
    cluster: str | None
    restart_cost: str
    checkpoint_every: str
    checkpoint_cost: str
    seed: int
    faults: str
    teams: str | None
    synthesise: bool
    arrivals: str
    first: int | None
    vary: str | None
    type_blind: bool
    packing: Packing | None
    since: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRules:
    """What a cluster file says: the machines and, if it is a scenario, the rules around them."""

    cluster: ClusterSpec
    teams: tuple[Team, ...] = ()
    pools: tuple[Pool, ...] = ()
    tiers: tuple[Tier, ...] = DEFAULT_TIERS
    unused: tuple[str, ...] = ()
    """Keys of the file that have a value but are not used in a replay."""


def input_files(options: ReplayOptions) -> tuple[Path, ...]:
    """Every file that the replay is made from."""
    cluster = cluster_source(options)
    named = (options.trace, None if is_size(cluster) else cluster, options.teams, *policy_files(options.policy))
    return tuple(Path(each) for each in named if each is not None)


def rules_besides(options: ReplayOptions) -> list[tuple[str, tuple[str, ...]]]:
    """The rules that a policy file has besides its policy, and that a live system would use.

    A file that is also named as the cluster or the teams is left out, because its rules are used.
    """
    used = [Path(file).resolve() for file in (cluster_source(options), options.teams) if file is not None]
    found: list[tuple[str, tuple[str, ...]]] = []
    for file in policy_files(options.policy):
        value = read_document(file).value
        parts = value if isinstance(value, dict) else {}
        rules = tuple(str(key) for key, part in parts.items() if key in USED_KEYS - {"cluster"} and part)
        if rules and Path(file).resolve() not in used:
            found.append((file, rules))
    return found


def cluster_source(options: ReplayOptions) -> str:
    """The cluster as it was named, else the file beside the trace."""
    return options.cluster or _cluster_beside(options.trace)


def setup_of(options: ReplayOptions, around: ClusterRules) -> Setup:
    """What is to be replayed once for each policy, before anything is varied."""
    faults = fault_rates(options.faults)
    habits = Habits(
        restart_cost_ms=_duration("--restart-cost", options.restart_cost),
        save_every_ms=_duration("--checkpoint-every", options.checkpoint_every),
        save_cost_ms=_duration("--checkpoint-cost", options.checkpoint_cost),
    )
    _check_spot(faults, around.pools)
    _check_rack(faults, around.cluster)
    trace = _trace(options)
    if is_size(cluster_source(options)):
        trace = without_types(trace)
    _check_gpus(trace, around.cluster, cluster_source(options))
    teams = with_default_team(trace, around.teams if options.teams is None else read_teams(options.teams))
    _check_teams(trace, teams)
    circumstances = Circumstances(
        habits=habits,
        faults=faults,
        teams=teams,
        pools=around.pools,
        tiers=around.tiers,
        seed=options.seed,
        can_resume=habits.save_every_ms > 0,
        knows_speeds=not options.type_blind,
    )
    return Setup(trace=trace, arrivals=_factor(options.arrivals), cluster=around.cluster, circumstances=circumstances)


def setups(options: ReplayOptions, base: Setup) -> tuple[Setup, ...]:
    """Everything that is to be replayed, once for each policy."""
    return (base,) if options.vary is None else variations(options.vary, base)


def surroundings(options: ReplayOptions) -> ClusterRules:
    """`75x8`, a cluster file, or a scenario with its teams, pools and tiers. Its jobs are left out."""
    source = cluster_source(options)
    if is_size(source) or (_LIKE_SIZE.fullmatch(source) and not Path(source).exists()):
        return ClusterRules(cluster=cluster_from_text(source))
    document = read_document(source)
    problems = Problems(document)
    value = document.value
    if isinstance(value, dict) and "cluster" in value:
        found = read_references(value, problems)
        problems.stop_if_any()
        unused = _unused(value, {*SCENARIO_KEYS, *value} - USED_KEYS, options)
        return ClusterRules(
            cluster=found.cluster, teams=found.teams, pools=found.pools, tiers=found.tiers, unused=unused
        )
    cluster, teams = cluster_and_teams(document, problems)
    # A cluster file may carry notes of its own. Only keys that mean something in a scenario are reported.
    unused = _unused(value, SCENARIO_KEYS - {"teams"}, options)
    return ClusterRules(cluster=cluster, teams=teams, unused=unused)


def _unused(value: object, keys: Set[str], options: ReplayOptions) -> tuple[str, ...]:
    """The keys that have a value in the file, in its order, without `now`: it is required and not used here."""
    parts = value if isinstance(value, dict) else {}
    wanted = (keys | ({"teams"} if options.teams is not None else set())) - {"now"}
    if Path(cluster_source(options)).resolve() in [Path(file).resolve() for file in policy_files(options.policy)]:
        wanted -= {"policy"}
    return tuple(str(key) for key, part in parts.items() if key in wanted and part)


def _cluster_beside(trace: str) -> str:
    beside = Path(trace).with_name(f"{trace_name(trace)}.cluster.json")
    if not beside.is_file():
        raise InvalidInput(f"say on which cluster to replay, such as --cluster 75x8: there is no {beside}")
    return str(beside)


def _trace(options: ReplayOptions) -> Trace:
    trace = read_trace(options.trace)
    if options.first is not None:
        trace = evolve(trace, jobs=trace.jobs[: options.first])
    trace = with_made_up(trace, options.seed) if options.synthesise else trace
    return trace if options.since is None else latest(trace, options.since)


def without_types(trace: Trace) -> Trace:
    """The trace for a cluster that was given in numbers alone, where any GPU is of any type."""
    untyped = sum(bool(job.gpu_types) for job in trace.jobs)
    jobs = tuple(evolve(job, gpu_types=()) if job.gpu_types else job for job in trace.jobs)
    return evolve(trace, jobs=jobs, untyped=untyped) if untyped else trace


def with_default_team(trace: Trace, teams: tuple[Team, ...]) -> tuple[Team, ...]:
    """The team tree, with the team of jobs that name none if there are any: it exists whatever the tree says."""
    is_missing = bool(teams) and all(team.path != DEFAULT_TEAM for team in teams)
    return (
        (*teams, Team(path=DEFAULT_TEAM)) if is_missing and any(j.team == DEFAULT_TEAM for j in trace.jobs) else teams
    )


def latest(trace: Trace, since: str) -> Trace:
    """The jobs of the period before the last submission, on a clock that begins with the first of them."""
    from_ms = max((job.submit_ms for job in trace.jobs), default=0) - _duration("--since", since)
    jobs = [job for job in trace.jobs if job.submit_ms >= from_ms]
    if len(jobs) == len(trace.jobs):
        return trace
    begin_ms = jobs[0].submit_ms
    return evolve(trace, jobs=tuple(evolve(job, submit_ms=job.submit_ms - begin_ms) for job in jobs))


def _factor(text: str) -> Decimal:
    try:
        factor = Decimal(text)
    except InvalidOperation:
        factor = Decimal(0)
    if not factor.is_finite() or factor <= 0:
        raise InvalidInput(f"--arrivals must be a number above 0, not {text!r}: 2 lets jobs come twice as fast")
    return factor


def _duration(option: str, text: str) -> int:
    try:
        return duration_ms(text)
    except BadValue as error:
        hint = f" ({error.hint})" if error.hint else ""
        raise InvalidInput(f"{option} {error.problem}{hint}") from None


def _check_spot(faults: FaultRates, pools: tuple[Pool, ...]) -> None:
    if faults.spot and not any(pool.spot for pool in pools):
        raise InvalidInput("faults: spot needs a scenario as --cluster, with nodes in a pool that has `spot: true`")


def _check_rack(faults: FaultRates, cluster: ClusterSpec) -> None:
    if faults.rack and not faults.mtbf:
        raise InvalidInput("faults: rack is a part of the node failures, and there are none: give mtbf as well")
    if faults.rack and not any(node.domains for node in cluster.nodes):
        raise InvalidInput("faults: rack needs a cluster file as --cluster whose nodes have racks: these have none")


def _check_gpus(trace: Trace, cluster: ClusterSpec, source: str) -> None:
    """Refuse a cluster on which no job can run, without a replay."""
    if not cluster.nodes:
        raise InvalidInput(f"{source}: there are no nodes to replay on; name some under nodes")
    needs_gpus = all(job.gpu_milli or job.asks_for_nothing for job in trace.jobs)
    if needs_gpus and all(node.gpus == 0 for node in cluster.nodes):
        raise InvalidInput(f"{source}: no node has a GPU, and every job of {trace.name} needs some")


def _check_teams(trace: Trace, teams: tuple[Team, ...]) -> None:
    """With a team tree, every team of the trace must be in it. Without one, every team exists."""
    known = {team.path for team in teams}
    missing = [team for team in dict.fromkeys(job.team for job in trace.jobs) if team not in known] if known else []
    if missing:
        shown = ", ".join(missing[:TEAMS_SHOWN]) + (" …" if len(missing) > TEAMS_SHOWN else "")
        raise InvalidInput(f"the trace has teams that the team tree does not name: {shown}; add them to it")
