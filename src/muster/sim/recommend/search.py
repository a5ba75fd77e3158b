"""The best setting on one part of the history, and every setting that was tried for it.

First every setting is changed alone. Then the best value of each setting that gains more than noise by itself joins a
combination, the largest gain first, and stays if it gains more than noise once more. So a change that brings little is
left out: an operator has to understand what is recommended.
"""

from collections.abc import Callable
from dataclasses import dataclass

from muster.model.policy import Policy
from muster.sim.recommend.comparison import NOISE, Worse, gain, worsenings
from muster.sim.recommend.score import Score
from muster.sim.recommend.trials import Change, changed, single_changes

Scorer = Callable[[Policy], Score]
"""Replays the part of the history under a policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedPolicy:
    """A changed policy, and how it did compared with the present one."""

    changes: tuple[Change, ...]
    policy: Policy
    score: Score
    gain: float
    worse: tuple[Worse, ...]
    decides_the_same: bool
    """True when on this history it decided nothing differently."""

    @property
    def too_much(self) -> tuple[Worse, ...]:
        """What is so much worse that it cannot be recommended."""
        return tuple(each for each in self.worse if each.too_much)

    @property
    def is_better(self) -> bool:
        """True when it gains more than noise, and nothing is too much worse."""
        return self.gain > NOISE and not self.too_much


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What was found on one part of the history."""

    present: Score
    tried: tuple[TriedPolicy, ...]
    """In the order in which they were tried."""
    best: TriedPolicy | None
    """None when nothing is better than the present policy."""


def search(present: Policy, scorer: Scorer) -> Search:
    """Try every setting alone, then combinations of those that gain something."""
    now = scorer(present)

    def tried(changes: tuple[Change, ...]) -> TriedPolicy:
        policy = changed(present, changes)
        return trial_of(changes, policy, now, scorer(policy))

    singles = [tried((change,)) for change in single_changes(present)]
    combined: list[TriedPolicy] = []
    best: TriedPolicy | None = None
    for single in _best_of_each_setting(singles):
        if best is None:
            best = single
            continue
        combined.append(tried(best.changes + single.changes))
        if combined[-1].is_better and gain(best.score, combined[-1].score) > NOISE:
            best = combined[-1]
    return Search(present=now, tried=(*singles, *combined), best=best)


def trial_of(changes: tuple[Change, ...], policy: Policy, now: Score, then: Score) -> TriedPolicy:
    """What a change does, as seen from the present policy."""
    return TriedPolicy(
        changes=changes,
        policy=policy,
        score=then,
        gain=gain(now, then),
        worse=worsenings(now, then),
        decides_the_same=bool(now.log_hash) and now.log_hash == then.log_hash,
    )


def _best_of_each_setting(singles: list[TriedPolicy]) -> list[TriedPolicy]:
    """For each setting the value that gains most, the largest gain first. Settings that gain nothing are left out."""
    found: dict[str, TriedPolicy] = {}
    for trial in singles:
        field = trial.changes[0][0]
        if trial.is_better and (field not in found or trial.gain > found[field].gain):
            found[field] = trial
    # Sorting is stable: of equal gains the setting that was tried first goes first.
    return sorted(found.values(), key=lambda trial: -trial.gain)
