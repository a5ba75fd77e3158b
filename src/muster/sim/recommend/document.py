"""The recommendation as plain values: what `muster simulate --recommend -o json` prints."""

from dataclasses import asdict
from typing import Any

from muster.formats.rules.rules import policy_document
from muster.model.policy import Policy
from muster.sim.recommend.comparison import NOISE, Worse
from muster.sim.recommend.recommendation import Advice, Recommendation
from muster.sim.recommend.score import Score
from muster.sim.recommend.search import TriedPolicy

SECOND_MS = 1000


def recommendation_document(made: Recommendation) -> dict[str, Any]:
    """All that was found. Nothing in it depends on how fast the machine is."""
    judged, is_change = made.judged, made.advice is Advice.CHANGE
    return {
        "advice": made.advice.value,
        "change": is_change,
        "policy": made.present.name,
        "settings": settings_changed(made, judged.best) if judged is not None and is_change else {},
        "noise": NOISE,
        "trace": made.trace.name,
        "replays": made.replays,
        "chosen_on": {**_part(made, 0, made.split), "present": _score(made.chosen.present)},
        "judged_on": {
            **_part(made, made.split, len(made.trace.jobs)),
            "present": None if judged is None else _score(judged.present),
            "then": None if judged is None else _trial(made, judged.best),
        },
        "tried": [_trial(made, trial) for trial in made.chosen.tried],
    }


def settings_changed(made: Recommendation, trial: TriedPolicy) -> dict[str, Any]:
    """The changed settings as a policy file writes them."""
    return _differences(made.present.rules, trial.policy)


def settings_to_write(made: Recommendation, trial: TriedPolicy, *, is_file: bool) -> dict[str, Any]:
    """What has to stand in the policy part of a file.

    In the file of the present policy that is what changes. A policy with a name has no file: there everything is
    written that differs from the defaults, and what changes even if it is a default.
    """
    changes = settings_changed(made, trial)
    return changes if is_file else {**_differences(Policy(), trial.policy), **changes}


def _differences(usual: Policy, policy: Policy) -> dict[str, Any]:
    known = policy_document(usual)
    return {key: value for key, value in policy_document(policy).items() if value != known[key]}


def _part(made: Recommendation, first: int, end: int) -> dict[str, Any]:
    """Which jobs of the period belong to a half, and from when to when they were submitted."""
    jobs = made.trace.jobs
    return {
        "jobs": end - first,
        "from_s": jobs[first].submit_ms / SECOND_MS,
        "to_s": jobs[end - 1].submit_ms / SECOND_MS,
    }


def _trial(made: Recommendation, trial: TriedPolicy) -> dict[str, Any]:
    return {
        "settings": settings_changed(made, trial),
        "gain": trial.gain,
        "better": trial.is_better,
        "decides_the_same": trial.decides_the_same,
        "worse": [_worse(each) for each in trial.worse],
        "figures": _score(trial.score),
    }


def _worse(worse: Worse) -> dict[str, Any]:
    return {key: value for key, value in asdict(worse).items() if value != ""}


def _score(score: Score) -> dict[str, Any]:
    figures = asdict(score)
    for groups in ("tiers", "teams"):
        figures[groups] = {group.pop("name"): group for group in figures[groups]}
    return figures
