"""How fast the ranks of a training are, as it is sent."""

from muster.answers.measures import RankPace
from muster.api.rendering.times import moment_of
from muster.formats.text.units import plain_number
from muster.live.watching.progress_watch import JobProgress
from muster.model.job import Job
from muster.model.telemetry import RankProgress

US_PER_S = 1_000_000


def rank_paces(job: Job, progress: JobProgress | None) -> list[RankPace]:
    """Each rank of the present attempt, by rank."""
    if progress is None or progress.attempt != job.attempt:
        return []
    timed = {each.rank: each for each in progress.timed}
    slow = {each.rank: plain_number(each.slowdown_milli) for each in job.stragglers}
    reports = sorted(progress.ranks, key=lambda each: each.rank)
    return [_pace(each, timed.get(each.rank), slow.get(each.rank)) for each in reports]


def _pace(report: RankProgress, timed: RankProgress | None, slowdown: float | None) -> RankPace:
    return RankPace(
        rank=report.rank,
        worker=report.worker,
        node=report.node,
        step=report.step,
        last_step_at=moment_of(report.step_ms),
        step_s=None if timed is None else timed.step_us / US_PER_S,
        busy_s=None if timed is None or not timed.busy_us else timed.busy_us / US_PER_S,
        saving=report.is_saving,
        slowdown=slowdown,
    )
