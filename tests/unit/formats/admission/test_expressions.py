"""Conditions: what is found out when they are configured, what they know, and what becomes of those without a value."""

import re
from typing import Any

import pytest

from muster.formats.admission import expressions
from muster.formats.admission.expressions import BadExpression, Condition, NotJudged, check_expression, facts
from muster.model.client_limits import EXPRESSION_CHARS
from muster.model.errors import InvalidInput


def _holds(text: str, **job: Any) -> bool:
    about = facts({"name": "train", **job}, user="ada", team="nlp", now_ms=1_767_225_600_000)
    return Condition(text).holds(about)


@pytest.mark.parametrize(
    ("text", "problem", "hint"),
    [
        ("", "is empty", "leave `when` out"),
        ("true" + " " * EXPRESSION_CHARS, "characters", "at most 2000"),
        ("jb == 1", "undeclared reference to 'jb'", "`job`, `user`, `team` and `now`"),
        ("job.tire == 'x'", "there is no key job.tire in a job file", "did you mean 'tier'?"),
        ("job.resources.gpu > 1", "there is no key job.resources.gpu in a job file", "did you mean 'gpus'?"),
        ("user > 3", "is not CEL: found no matching overload for '_>_' applied to '(string, int)'", "admission.md"),
        ("user >", "is not CEL: Syntax error", "admission.md"),
        ("1 + 1", "is a int, not true or false", "compare it"),
        ("(" * 40 + "true" + ")" * 40, "is nested too deeply", "make several rules"),
        ("{type(1): type(1)}", "Unsupported map key type", ""),
        ("nowhere(job)", "undeclared reference to 'nowhere'", ""),
    ],
)
def test_what_is_no_condition_is_refused_with_what_to_do(text: str, problem: str, hint: str) -> None:
    with pytest.raises(BadExpression) as raised:
        check_expression(text)
    assert problem in raised.value.problem
    assert hint in raised.value.hint


@pytest.mark.parametrize(
    "text",
    ["job.name.startsWith('job.tire')", "'job.tire' == job.name", "job.tags.anything == 'x'", "has(job.roles.x.run)"],
)
def test_texts_methods_and_keys_that_people_choose_are_no_keys_of_a_job_file(text: str) -> None:
    check_expression(text)


def test_amounts_of_a_job_file_are_compared_as_numbers() -> None:
    assert _holds("seconds(job.max_duration) > seconds('36h')", max_duration="2d")
    assert not _holds("seconds(job.max_duration) > 172800", max_duration="2d")
    assert _holds("seconds(0.5) == 0.5")
    assert _holds("memory(job.resources.memory) > memory('100GB')", resources={"memory": "1TiB"})
    assert _holds("gpus(job) == 16", workers="1..2", resources={"gpus": 8})
    assert _holds("gpus(job) == 0.5", resources={"gpus": 0.5})
    assert _holds("gpus(job) == 0")
    roles = {"a": {"workers": 2, "resources": {"gpus": 1}}, "b": {}}
    assert _holds("gpus(job) == 2", roles=roles)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("job.image == 'x'", "the job has no image; ask has(…) first"),
        ("seconds(job.name) > 1", "must be a duration such as 90s"),
        ("1 / 0 == 1", "divide by zero"),
        ("job.name", "it is a string, not true or false"),
        ("job.exclude.all(a, job.exclude.all(b, a + b >= 0))", "it takes too many steps"),
    ],
)
def test_a_condition_without_a_value_says_why(text: str, why: str) -> None:
    about = facts({"name": "train", "exclude": list(range(300))}, user="ada", team="nlp", now_ms=0)
    condition = Condition(text)
    with pytest.raises(NotJudged, match=re.escape(why)):
        condition.holds(about)


def test_without_the_library_a_client_leaves_the_check_to_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expressions, "LIBRARY", "muster_has_no_such_library")
    check_expression("job.name == 'checked on the server only' +")
    with pytest.raises(BadExpression):
        check_expression("job.tire == 'checked here, because it needs no library'")
    with pytest.raises(InvalidInput, match="pip install 'muster-scheduler"):
        expressions.require_library()
