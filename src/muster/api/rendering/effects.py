"""What admission rules did to a job, as it is sent."""

from collections.abc import Iterable

from muster.answers.admission import Effect
from muster.model.policy import RuleEffect


def effect_answers(effects: Iterable[RuleEffect]) -> tuple[Effect, ...]:
    """Each with the name of its rule."""
    return tuple(
        Effect(rule=each.rule, kind=each.kind, message=each.message or None, keys=each.keys) for each in effects
    )
