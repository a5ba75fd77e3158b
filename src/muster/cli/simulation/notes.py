"""What people should know about a replay besides its figures: every line that `muster simulate` writes on stderr."""

from collections.abc import Sequence
from pathlib import Path

from muster.cli.simulation.setup import ReplayOptions
from muster.cli.terminal.screen import note
from muster.formats.traces.columns import probably_meant
from muster.formats.traces.trace_csv import COLUMNS, COLUMNS_SHOWN
from muster.model.errors import InvalidInput
from muster.model.job import JobState
from muster.model.policy import Policy
from muster.model.trace import RUN_MS_MIN, Trace
from muster.policies import NamedPolicy, hidden_plug_ins
from muster.sim.outcome import Replay
from muster.sim.recommend.trials import replays_most
from muster.sim.timeline import is_rejected

UNUSED_HINTS = {
    "policy": "to try its policy name the file in --policy",
    "running": "jobs come from --trace",
    "waiting": "jobs come from --trace",
    "teams": "those of --teams count instead",
}
"""What to do about a key of the cluster file that is not used."""


def tell_skipped(trace: Trace) -> None:
    """Say how many jobs of the file are not in the replay."""
    if trace.skipped:
        left_out, who = ("1 job was", "it") if trace.skipped == 1 else (f"{trace.skipped:,} jobs were", "they")
        _tell(trace.name, f"{left_out} left out: the file does not say how long {who} ran or on how much")


def tell_columns(trace: Trace) -> None:
    """Say which columns of the file are not used, what they were probably meant to be, and which exist."""
    if not trace.unused:
        return
    meant = [(each, probably_meant(each, COLUMNS)) for each in trace.unused]
    said = [each if name is None else f"{each} (should it be {name}?)" for each, name in meant[:COLUMNS_SHOWN]]
    more = f" and {len(meant) - COLUMNS_SHOWN} more" if len(meant) > COLUMNS_SHOWN else ""
    columns, are = ("column", "is") if len(meant) == 1 else ("columns", "are")
    known = f"; those that are known: {', '.join(COLUMNS)}, dur_TYPE_s"
    _tell(trace.name, f"the {columns} {', '.join(said)}{more} {are} not used{known}")


def tell_rows(trace: Trace) -> None:
    """Say how many rows ask for nothing, last no time, or ask for what this cluster does not tell apart."""
    for text in special_rows(trace):
        _tell(trace.name, text)


def special_rows(trace: Trace) -> list[str]:
    """A sentence on rows that ask for nothing, one on rows that last no time, and one on GPU types, if need be."""
    found = []
    nothing = sum(job.asks_for_nothing for job in trace.jobs)
    if nothing:
        rows, they = ("1 row asks", "it ran") if nothing == 1 else (f"{nothing:,} rows ask", "they ran")
        counted = "counted as finished, and in no figure of completion, waiting or fairness"
        found.append(f"{rows} for no resources: {they} at once, {counted}")
    moments = sum(job.run_ms <= RUN_MS_MIN and not job.asks_for_nothing for job in trace.jobs)
    if moments == 1:
        found.append("1 row has a duration of zero: the job ends as soon as it starts, and all figures count it")
    elif moments:
        found.append(
            f"{moments:,} rows have a duration of zero: the jobs end as soon as they start, and all figures count them"
        )
    if trace.untyped:
        rows, they = (
            ("1 row names", "its job runs") if trace.untyped == 1 else (f"{trace.untyped:,} rows name", "they run")
        )
        found.append(f"{rows} a type of GPU: {they} on any GPU, as a cluster given as nodes x GPUs has no types")
    return found


def tell_unused(file: str, keys: Sequence[str]) -> None:
    """Say which keys of the cluster file are not used, and what to do about it."""
    if not keys:
        return
    hints = [UNUSED_HINTS[key] for key in keys if key in UNUSED_HINTS]
    are = "is" if len(keys) == 1 else "are"
    _tell(file, "; ".join([f"{', '.join(keys)} {are} not used in a replay", *dict.fromkeys(hints)]))


def tell_hidden(policies: Sequence[NamedPolicy]) -> None:
    """Say which plug-ins are not used, although they have the name of a replayed policy."""
    for policy in policies:
        for source in hidden_plug_ins(policy.name):
            _tell(policy.name, f"the plug-in {source} has the name of another policy and is not used; rename it")


def tell_besides(files: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Say which rules a policy file has besides its policy that are not used."""
    for file, rules in files:
        are, they = ("is", "it comes") if len(rules) == 1 else ("are", "they come")
        _tell(file, f"{', '.join(rules)} {are} not used: {they} from --cluster or --teams")


def tell_ends(vary: str | None) -> None:
    """Say that only the two ends of a range are replayed when the user gave no step."""
    if vary is not None and ".." in vary and ":" not in vary:
        _tell(f"--vary {vary}", "without a step only its two ends are replayed; a step of 1 is written :1 behind them")


def tell_search(whole: Trace, period: Trace, present: Policy, options: ReplayOptions) -> None:
    """Say which part of the history is looked at, what a restart costs in it, and how long this may take."""
    jobs = f"{len(period.jobs):,} job{'s' * (len(period.jobs) != 1)}"
    if len(period.jobs) < len(whole.jobs):
        jobs = f"only the last {options.since} count: {jobs} of {len(whole.jobs):,}; --since sets another period"
    else:
        jobs = f"all {jobs} count"
    _tell(whole.name, jobs)
    cost = f"a restart costs a job {options.restart_cost}"
    _tell("--recommend", f"{cost}; at most {replays_most(present)} replays, most of them of the first half of the jobs")


def tell_replay(made: Replay, what: str) -> None:
    """Say which jobs the figures leave out, and why. Refuse a replay in which no job can ever run."""
    _tell_dropped(made, what)
    _tell_rejected(made, what)
    _tell_unfinished(made, what)
    _tell_limits(made, what)


def tell_report(path: Path) -> None:
    """Say where the report is."""
    note(f"the report is in {path}")


def _tell_dropped(made: Replay, what: str) -> None:
    """Tell of plans that were dropped: then the figures do not measure the policy."""
    if made.dropped_plans:
        dropped = "1 plan was" if made.dropped_plans == 1 else f"{made.dropped_plans:,} plans were"
        first = "it" if made.dropped_plans == 1 else "the first"
        cycles = f"{made.cycles:,} cycle{'s' * (made.cycles != 1)}"
        _tell(what, f"in {cycles} {dropped} invalid and dropped whole; what was wrong with {first}: {made.first_drop}")


def _tell_rejected(made: Replay, what: str) -> None:
    rejected = sum(is_rejected(outcome) for outcome in made.outcomes)
    if rejected == len(made.outcomes):
        raise InvalidInput(f"no job of {made.trace} can ever run on this cluster: {made.rejections[0]}")
    if rejected:
        jobs, are = ("1 job", "is") if rejected == 1 else (f"{rejected:,} jobs", "are")
        why = f"{made.rejections[0]}{_others(len(made.rejections) - 1)}"
        _tell(what, f"{jobs} can never run on this cluster and {are} left out: {why}")


def _others(reasons: int) -> str:
    if not reasons:
        return ""
    return " (and 1 other reason)" if reasons == 1 else f" (and {reasons} other reasons)"


def _tell_unfinished(made: Replay, what: str) -> None:
    """Tell of jobs that no completion time counts. Cancelled and rejected jobs are told elsewhere."""
    left_out = [each for each in made.outcomes if each.state not in (JobState.SUCCEEDED, JobState.CANCELLED)]
    unfinished = sum(not is_rejected(each) for each in left_out)
    if unfinished:
        jobs = len(made.outcomes)
        _tell(what, f"{unfinished:,} of {jobs:,} jobs did not finish, and no completion time counts them")


def _tell_limits(made: Replay, what: str) -> None:
    """Tell of jobs that were stopped at their limits, although in the source they were not."""
    cut = sum(outcome.state is JobState.TIMED_OUT for outcome in made.outcomes)
    if cut:
        stopped = "1 job was stopped at its limit" if cut == 1 else f"{cut:,} jobs were stopped at their limits"
        _tell(what, f"{stopped}, because of stragglers")


def _tell(about: str, text: str) -> None:
    note(f"{about}: {text}")
