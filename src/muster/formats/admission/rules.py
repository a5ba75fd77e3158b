"""The `admission` part of a configuration <-> the rules that jobs pass before they enter the queue."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import Field

from muster.formats.admission.expressions import BadExpression, check_expression
from muster.formats.admission.values import Values, values_of
from muster.formats.jobs.job_file import check_keys
from muster.formats.parts.kinds import Kind, PositiveDuration, Text, text
from muster.formats.parts.parts import Part, Stored
from muster.formats.text.document import Problems
from muster.formats.text.units import BadValue, duration_text, shown
from muster.formats.text.yaml_text import Loc
from muster.model.client_limits import ADMISSION_RULES, PLUGIN_LIMIT_MOST_MS
from muster.model.policy import AdmissionRule, OnError

NAME_CHARS = 100
MESSAGE_CHARS = 1000
TAGS_MAX = 50
ACTIONS = ("deny", "warn", "set", "require_tags", "plugin")
"""What a rule may do. It does one of them."""

OUT_OF_REACH = ("team", "array", "workdir", "bundle", "profile")
"""Keys that no rule sets. Access was checked for the team, and the others were acted on before rules are asked."""


def rule_name(value: object) -> str:
    """What people call a rule. It may have blanks, and stands in addresses, so it has no slash."""
    name = text(value).strip()
    if not name or len(name) > NAME_CHARS or "/" in name or not name.isprintable():
        raise BadValue(f"{shown(value)} is not a name for a rule", f"1 to {NAME_CHARS} characters, on one line, no /")
    return name


def message(value: object) -> str:
    """What people are told."""
    said = text(value).strip()
    if not said or len(said) > MESSAGE_CHARS:
        raise BadValue("must say something" if not said else "is too long", f"up to {MESSAGE_CHARS} characters")
    return said


RuleName = Annotated[str, Kind(read=rule_name)]
Message = Annotated[str, Kind(read=message)]


class AdmissionRuleWire(Part, record=AdmissionRule):
    """A rule that every job passes before it enters the queue. It does one of deny, warn, set, require_tags, plugin."""

    name: RuleName
    """What people call it. Each rule has a name of its own."""
    when: Text
    """An expression in CEL over `job`, `user`, `team` and `now`. Left out, the rule is for every job."""
    deny: Message
    """Refuse the job with this message."""
    warn: Message
    """Admit the job with this message."""
    set: Annotated[Values, Stored("values")]
    """Keys of the job file that the job gets where it says nothing itself."""
    override: bool
    """With `set`: also where it says something itself."""
    require_tags: Annotated[list[Text], Field(max_length=TAGS_MAX)]
    """Refuse the job unless it has all of these tags."""
    plugin: Text
    """Let this function of an installed package decide."""
    time_limit: Annotated[PositiveDuration, Stored("time_limit_ms")]
    """How long the plug-in may take for one job."""
    on_error: Annotated[OnError, Field(strict=False)]
    """When the rule cannot be judged: `deny` refuses the job, `allow` admits it with a warning."""


def admission_part(value: object, problems: Problems, at: Loc) -> tuple[AdmissionRule, ...]:
    """The rules in their order. What is wrong with them is noted."""
    if not isinstance(value, list):
        problems.add(at, f"must be a list of rules, not {shown(value)}", "in TOML, [[admission]] begins each of them")
        return ()
    if len(value) > ADMISSION_RULES:
        problems.add(at, f"{len(value)} rules are too many", f"at most {ADMISSION_RULES}")
        return ()
    found: dict[str, AdmissionRule] = {}
    for place, each in enumerate(value):
        rule: AdmissionRule | None = AdmissionRuleWire.read(each, problems, (*at, place))
        if rule is None:
            continue
        if rule.name in found:
            problems.add((*at, place, "name"), f"there are two rules {rule.name!r}", "give each a name of its own")
        _check(rule, each, problems, (*at, place))
        found[rule.name] = rule
    return tuple(found.values())


def admission_document(rules: Iterable[AdmissionRule]) -> list[dict[str, object]]:
    """The rules as a file would say them."""
    return [AdmissionRuleWire.document(rule) for rule in rules]


def _check(rule: AdmissionRule, given: Mapping[str, Any], problems: Problems, at: Loc) -> None:
    actions = [key for key in ACTIONS if given.get(key) not in (None, [], {})]
    if len(actions) != 1:
        said = f"does {' and '.join(actions)}" if actions else "does nothing"
        problems.add(at, f"rule {rule.name!r} {said}", f"give one of {', '.join(ACTIONS)}")
    if rule.override and "set" not in actions:
        problems.add((*at, "override"), "only `set` can override", "leave it out")
    if "time_limit" in given and "plugin" not in actions:
        problems.add((*at, "time_limit"), "only a plug-in has a time limit of its own", "leave it out")
    if rule.time_limit_ms > PLUGIN_LIMIT_MOST_MS:
        most = duration_text(PLUGIN_LIMIT_MOST_MS)
        problems.add((*at, "time_limit"), "submissions would wait too long for this plug-in", f"at most {most}")
    if rule.values:
        _check_values(values_of(rule.values), problems, (*at, "set"))
    if rule.when:
        try:
            check_expression(rule.when)
        except BadExpression as error:
            problems.add((*at, "when"), error.problem, error.hint)


def _check_values(values: Mapping[str, Any], problems: Problems, at: Loc) -> None:
    for key in OUT_OF_REACH:
        if key in values:
            problems.add((*at, key), f"no rule can set {key}", "refuse the job with `deny`, and say what to write")
    check_keys({key: value for key, value in values.items() if key not in OUT_OF_REACH}, problems, at)
