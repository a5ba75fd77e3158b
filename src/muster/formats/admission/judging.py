"""Rules asked about one job, one after another. A rule that denies ends it; what a rule sets, later rules see.

Nothing here waits and nothing is shared: this runs in a process that is ended when it takes too long.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from muster.formats.admission.expressions import BadExpression, Condition, NotJudged, facts
from muster.formats.admission.merging import completed, differences, replaced
from muster.formats.admission.values import values_of
from muster.model.policy import AdmissionRule, EffectKind, OnError, RuleEffect


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedJob:
    """A job about which rules are asked."""

    given: dict[str, Any]
    """What the job file says."""
    view: dict[str, Any]
    """The same with defaults, as rules see it."""
    user: str
    team: str
    now_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """Why a job is refused."""

    rule: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What rules say of a job."""

    given: dict[str, Any]
    view: dict[str, Any]
    denial: Denial | None = None
    effects: list[RuleEffect] = field(default_factory=list)
    plugin: int | None = None
    """The place of the rule whose plug-in has to be asked before the rules after it; None when all were asked."""


class RuleBook:
    """Rules with their conditions compiled."""

    def __init__(self, rules: Sequence[AdmissionRule]) -> None:
        self._rules = [(rule, _condition(rule.when)) for rule in rules]

    def judge(
        self,
        asked: AskedJob,
        *,
        first: int = 0,
        skipped: frozenset[int] = frozenset(),
        note: Callable[[int], None] = lambda _: None,
    ) -> Judgement:
        """Ask the rules from `first` on, except those that are skipped. `note` hears of each before it is asked."""
        going = _Going(asked)
        for place in range(first, len(self._rules)):
            if place in skipped:
                continue
            note(place)
            rule, condition = self._rules[place]
            try:
                applies = condition is None or _holds(condition, going.about)
            except NotJudged as error:
                going.take(not_judged(rule, str(error)))
                applies = False
            if applies and rule.plugin:
                return going.judgement(plugin=place)
            if applies:
                going.apply(rule)
            if going.denial is not None:
                break
        return going.judgement()


def _condition(text: str) -> Condition | BadExpression | None:
    """A condition. One that was sound when it was configured need not be for the library of today."""
    try:
        return Condition(text) if text else None
    except BadExpression as error:
        return error


def _holds(condition: Condition | BadExpression, about: Any) -> bool:
    if isinstance(condition, BadExpression):
        raise NotJudged(condition.problem)
    return condition.holds(about)


class _Going:
    """A job on its way through the rules."""

    def __init__(self, asked: AskedJob) -> None:
        self._asked, self._given, self._view = asked, asked.given, asked.view
        self._effects: list[RuleEffect] = []
        self.denial: Denial | None = None
        self.about = self._facts()

    def apply(self, rule: AdmissionRule) -> None:
        """Do what a rule does."""
        missing = [tag for tag in rule.require_tags if tag not in (self._view.get("tags") or {})]
        if rule.deny:
            self.denial = Denial(rule=rule.name, message=rule.deny)
        elif missing:
            self.denial = Denial(rule=rule.name, message=f"needs the tags {', '.join(missing)}: write tags: {{…}}")
        elif rule.warn:
            self.take(RuleEffect(rule=rule.name, kind=EffectKind.WARN, message=rule.warn))
        elif rule.values:
            given, keys = changed(self._given, rule)
            if keys:
                self._view = replaced(self._view, _only(given, keys))
                self._given = given
                self.about = self._facts()
                self.take(RuleEffect(rule=rule.name, kind=EffectKind.SET, keys=keys))

    def take(self, outcome: RuleEffect | Denial) -> None:
        """Note what became of a rule."""
        if isinstance(outcome, Denial):
            self.denial = outcome
        else:
            self._effects.append(outcome)

    def judgement(self, plugin: int | None = None) -> Judgement:
        """What was found so far."""
        return Judgement(given=self._given, view=self._view, denial=self.denial, effects=self._effects, plugin=plugin)

    def _facts(self) -> Any:
        asked = self._asked
        return facts(self._view, user=asked.user, team=asked.team, now_ms=asked.now_ms)


def not_judged(rule: AdmissionRule, why: str) -> RuleEffect | Denial:
    """What follows when a rule cannot be judged."""
    if rule.on_error is OnError.DENY:
        return Denial(rule=rule.name, message=f"could not be judged: {why}")
    return RuleEffect(rule=rule.name, kind=EffectKind.WARN, message=f"could not be judged, and was passed over: {why}")


def changed(given: Mapping[str, Any], rule: AdmissionRule) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A job file with what a rule sets, and the keys that changed."""
    values = values_of(rule.values)
    after = replaced(given, values) if rule.override else completed(given, values)
    return after, tuple(differences(given, after))


def _only(given: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: given[key] for key in dict.fromkeys(path.partition(".")[0] for path in keys)}
