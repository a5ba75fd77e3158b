"""Rules of the kinds that platform teams write: each says what it should of its job, and nothing of another."""

from pathlib import Path
from typing import Any

import pytest

from muster.formats.admission.job_view import job_view
from muster.formats.admission.judging import AskedJob, Judgement, RuleBook
from muster.formats.admission.rules import admission_document, admission_part
from muster.formats.jobs.job_file import job_from_document
from muster.formats.text.document import Document, Problems, read_document
from muster.formats.text.units import time_ms
from muster.model.policy import AdmissionRule, EffectKind

CASES: list[Any] = read_document(Path(__file__).parents[3] / "data" / "admission_rules.yaml").value  # type: ignore[assignment]
NOON = "2026-01-01T12:00:00Z"


def _rules(*documents: dict[str, Any]) -> tuple[AdmissionRule, ...]:
    problems = Problems(Document(file="rules", value=list(documents)))
    rules = admission_part(list(documents), problems, ())
    problems.stop_if_any()
    return rules


def _judged(case: dict[str, Any], keys: dict[str, Any]) -> Judgement:
    job = {"name": "train", "team": "nlp", "run": "python train.py", **keys}
    given = {key: value for key, value in job.items() if value is not None}
    spec = job_from_document(Document(file="job", value=given))
    said = {"user": "ada", "team": spec.team, "now": NOON, **case.get("as", {})}
    asked = AskedJob(
        given=given, view=job_view(spec), user=said["user"], team=said["team"], now_ms=time_ms(said["now"])
    )
    found = RuleBook(_rules(case["rule"])).judge(asked)
    job_from_document(Document(file="after", value=found.given))
    return found


def test_there_are_fifty_rules_of_many_kinds() -> None:
    assert len(CASES) >= 50
    rules = _rules(*(case["rule"] for case in CASES))
    assert {key for rule in admission_document(rules) for key in rule} >= {"deny", "warn", "set", "require_tags"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["rule"]["name"])
def test_a_rule_is_about_the_job_that_it_is_for_and_no_other(case: dict[str, Any]) -> None:
    [rule] = _rules(case["rule"])
    hit, miss = _judged(case, case["hit"]), _judged(case, case["miss"])
    assert (miss.denial, miss.effects) == (None, [])
    if rule.values:
        [effect] = hit.effects
        assert (effect.kind, sorted(effect.keys)) == (EffectKind.SET, case["sets"])
    elif rule.warn:
        assert [effect.message for effect in hit.effects] == [rule.warn]
    else:
        assert hit.denial is not None
        assert "could not be judged" not in hit.denial.message
        assert rule.deny in hit.denial.message
