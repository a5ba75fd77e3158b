"""The history as it is sent: sums of each step, in seconds."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from muster.answers.history import History, PoolHistory, Sums, TeamHistory, TierHistory
from muster.api.rendering.times import moment_of
from muster.core.pricing import is_priced
from muster.model.ids import TeamPath
from muster.model.resources import GPU_MILLI
from muster.model.scenario import Rules
from muster.model.team import ancestors
from muster.views.gauges import Gauge
from muster.views.history import Bucket

_MS = 1000
_GPU_S = GPU_MILLI * _MS
"""GPU thousandths times milliseconds in a GPU second."""
_GPU_HOUR = 3600 * _GPU_S

Of = Callable[..., Sums]
"""The sums of a measure in every step: `of(measure, one, other, per=unit)`."""


def history_body(buckets: Sequence[Bucket], step_ms: int, since_ms: int, rules: Rules) -> History:
    """The answer for some buckets, oldest first."""
    start_ms = buckets[0].start_ms if buckets else since_ms - since_ms % step_ms
    steps = (buckets[-1].start_ms - start_ms) // step_ms + 1 if buckets else 0
    of: Of = partial(_sums, _laid_out(buckets, start_ms, step_ms, steps))
    names = [tier.name for tier in rules.tiers]
    used = _places(buckets, Gauge.USED)
    pools = dict.fromkeys([*(pool for pool, _ in _places(buckets, Gauge.GPUS)), *(pool for pool, _ in used)])
    waited = [*_places(buckets, Gauge.WAITING), *_places(buckets, Gauge.STARTS)]
    tiers = dict.fromkeys([*names, *(tier for tier, _ in waited)])
    return History(
        start=moment_of(start_ms),
        step_s=step_ms // _MS,
        covered_s=of(Gauge.COVERED, per=_MS),
        pools={pool: _pool(of, pool, [tier for each, tier in used if each == pool]) for pool in pools},
        tiers={tier: _tier(of, tier) for tier in tiers},
        teams=_teams(buckets, of, has_prices=is_priced(rules)),
    )


def _pool(of: Of, pool: str, tiers: Iterable[str]) -> PoolHistory:
    return PoolHistory(
        gpu_s=of(Gauge.GPUS, pool, per=_GPU_S),
        out_gpu_s=of(Gauge.OUT, pool, per=_GPU_S),
        used_gpu_s={tier: of(Gauge.USED, pool, tier, per=_GPU_S) for tier in tiers},
    )


def _tier(of: Of, tier: str) -> TierHistory:
    return TierHistory(
        waiting_job_s=of(Gauge.WAITING, tier, per=_MS),
        starts=tuple(map(int, of(Gauge.STARTS, tier, per=1))),
        waited_s=of(Gauge.WAITED, tier, per=_MS),
        longest_wait_s=of(Gauge.LONGEST_WAIT, tier, per=_MS),
    )


def _teams(buckets: Sequence[Bucket], of: Of, *, has_prices: bool) -> dict[str, TeamHistory]:
    """Every team with the teams below it. What a team borrows was counted so from the beginning."""
    own = dict.fromkeys(
        TeamPath(team)
        for measure in (Gauge.TEAM_USED, Gauge.TEAM_BORROWED, Gauge.TEAM_WAITING)
        for team, _ in _places(buckets, measure)
    )
    within: dict[str, list[TeamPath]] = {}
    for team in own:
        for above in ancestors(team):
            within.setdefault(above, []).append(team)

    def summed(measure: Gauge, path: str, per: int) -> Sums:
        return tuple(map(sum, zip(*(of(measure, team, per=per) for team in within[path]), strict=True)))

    return {
        path: TeamHistory(
            used_gpu_s=summed(Gauge.TEAM_USED, path, _GPU_S),
            borrowed_gpu_s=of(Gauge.TEAM_BORROWED, path, per=_GPU_S),
            waiting_job_s=summed(Gauge.TEAM_WAITING, path, _MS),
            cost=summed(Gauge.TEAM_COST, path, _GPU_HOUR * GPU_MILLI) if has_prices else None,
        )
        for path in sorted(within)
    }


def _places(buckets: Sequence[Bucket], measure: Gauge) -> list[tuple[str, str]]:
    """What there are sums of, in the order of the names."""
    return sorted({(key[1], key[2]) for bucket in buckets for key in bucket.sums if key[0] == measure})


def _laid_out(buckets: Sequence[Bucket], start_ms: int, step_ms: int, steps: int) -> list[Bucket]:
    """The buckets, with empty ones for steps that nothing is known of."""
    found = {bucket.start_ms: bucket for bucket in buckets}
    starts = range(start_ms, start_ms + steps * step_ms, step_ms)
    return [found.get(each, Bucket(each, {})) for each in starts]


def _sums(buckets: Sequence[Bucket], measure: Gauge, one: str = "", other: str = "", *, per: int) -> Sums:
    return tuple(_number(bucket.sums.get((measure, one, other), 0), per) for bucket in buckets)


def _number(amount: int, per: int) -> int | float:
    whole, rest = divmod(amount, per)
    return amount / per if rest else whole
