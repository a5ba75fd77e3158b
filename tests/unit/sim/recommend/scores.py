"""Made-up scores: a policy does as well as a test says."""

from collections.abc import Mapping
from typing import Any

from muster.model.policy import Policy
from muster.sim.recommend.score import GroupWait, Score
from muster.sim.recommend.trials import Change


def a_score(mean_s: float = 1000.0, **figures: Any) -> Score:
    usual: dict[str, Any] = {
        "jobs": 500,
        "unfinished": 0,
        "wait_mean_s": 400.0,
        "wait_p99_s": 20_000.0,
        "rho_worst": 4.0,
        "unfair": 0.1,
        "preemptions_per_job": 0.2,
        "utilisation": 0.8,
    }
    return Score(completion_mean_s=mean_s, **(usual | figures))


def a_group(name: str, wait_mean_s: float, jobs: int = 100) -> GroupWait:
    return GroupWait(name=name, jobs=jobs, wait_mean_s=wait_mean_s)


class MadeUp:
    """Scores by what was changed. A combination that is not listed does as well as the best of its parts."""

    def __init__(self, present: Policy, scores: Mapping[frozenset[Change], Score]) -> None:
        self._present = present
        self._scores = scores
        self.asked: list[frozenset[Change]] = []

    def __call__(self, policy: Policy) -> Score:
        fields = ((name, getattr(policy, name)) for name in Policy.__struct_fields__)
        changes = frozenset((name, value) for name, value in fields if value != getattr(self._present, name))
        self.asked.append(changes)
        parts = (score for known, score in self._scores.items() if known and known <= changes)
        usual = self._scores.get(frozenset(), a_score())
        return self._scores.get(changes) or min(parts, key=lambda score: score.completion_mean_s, default=usual)
