"""The results of the comparison of policies as text: every case, how many bars held, and promised waits."""

from collections.abc import Iterator, Sequence

from benchmarks.policy_figures import Figures, Result
from benchmarks.promised_waits import WaitFigures

HEAD = (
    f"{'trace':24} {'load':>5} {'nodes':>5} {'jobs':>6} {'policy':>11} {'mean s':>9} {'pre/job':>7} "
    f"{'worst rho':>9} {'unfair %':>8} {'goodput %':>9} {'late %':>6}"
)


def table_lines(results: Sequence[Result]) -> Iterator[str]:
    """All figures, and after each trace which bars `muster` holds against `las`."""
    yield HEAD
    for result in results:
        where = f"{result.case:24} {result.load:5.2f} {result.nodes:5} {result.jobs:6}"
        for figures in result.figures:
            yield f"{where} {_row(figures)}"
            where = " " * len(where)
        yield f"  {_origin(result)}{_verdict(result)}"


def summary_lines(results: Sequence[Result]) -> Iterator[str]:
    """How many cases hold each bar: tuned ones, unseen ones, and the unseen by what they share with the tuned."""
    judged = [result for result in results if result.bars]
    if not judged:
        return
    bars = [bar for bar, _ in judged[0].bars]
    yield f"{'bars held':34} {'cases':>5} {'all':>5} " + " ".join(f"{bar:>11}" for bar in bars)
    unseen = [result for result in judged if not result.is_tuned]
    groups = {
        "tuned": [result for result in judged if result.is_tuned],
        "unseen": unseen,
        "  all jobs tuned at another size": [result for result in unseen if result.known == 1],
        "  some jobs in a tuned case": [result for result in unseen if 0 < result.known < 1],
        "  no job in a tuned case": [result for result in unseen if not result.known],
    }
    for name, group in groups.items():
        held = [sum(dict(result.bars)[bar] for result in group) for bar in bars]
        whole = sum(all(is_held for _, is_held in result.bars) for result in group)
        yield f"{name:34} {len(group):5} {whole:5} " + " ".join(f"{number:11}" for number in held)


def waits_lines(waits: Sequence[WaitFigures]) -> Iterator[str]:
    """Waits of jobs to which something is promised, in seconds."""
    if not waits:
        return
    yield (
        f"{'promised waits':30} {'policy':>7} {'jobs':>6} {'p99':>8} {'max':>8} {'p99 more':>8} {'max more':>8} "
        f"{'promised':>8} {'longer':>6}"
    )
    for each in waits:
        yield (
            f"{each.case:30} {each.policy:>7} {each.jobs:6} {each.p99_wait_s:8.0f} {each.max_wait_s:8.0f} "
            f"{each.p99_beyond_s:8.0f} {each.max_beyond_s:8.0f} {each.promised_s:8.0f} {each.longer:6}  {each.note}"
        )
    for each in waits:
        if each.below is not None:
            yield (
                f"{each.case:30} {each.policy:>7} below its guarantee up to {each.below.max_s:.0f} s "
                f"({each.below.longer} of {each.below.spells} times longer than promised), "
                f"for jobs that wait again {each.below.again_max_s:.0f} s ({each.below.again_longer} times)"
            )


def _row(figures: Figures) -> str:
    late = "" if figures.late_percent is None else f"{figures.late_percent:.2f}"
    return (
        f"{figures.policy:>11} {figures.mean_jct_s:9.0f} {figures.preemptions_per_job:7.3f} {figures.worst_rho:9.2f} "
        f"{figures.unfair_percent:8.2f} {figures.goodput_percent:9.2f} {late:>6}"
    )


def _origin(result: Result) -> str:
    if result.is_tuned:
        return "tuned"
    return f"unseen, {100 * result.known:.0f} % of its jobs in a tuned case" if result.known else "unseen"


def _verdict(result: Result) -> str:
    if not result.bars:
        return ""
    held = [bar for bar, is_held in result.bars if is_held]
    missed = [bar for bar, is_held in result.bars if not is_held]
    return f"; holds: {', '.join(held) or 'none'}" + (f"; MISSES: {', '.join(missed)}" if missed else "")
