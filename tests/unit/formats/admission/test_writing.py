"""Rules and profiles as they are written, and what they make of a job file."""

from typing import Any

import pytest

from muster.formats.admission.merging import completed, differences, filled, replaced
from muster.formats.admission.profiles import profiles_document, profiles_part, with_profile
from muster.formats.admission.rules import admission_document, admission_part
from muster.formats.text.document import Document, InvalidDocument, Problems
from muster.model.client_limits import ADMISSION_RULES, PROFILES


def _problems(part: Any, value: object) -> str:
    problems = Problems(Document(file="file", value=value))
    part(value, problems, ())
    if not problems.count:
        return ""
    with pytest.raises(InvalidDocument) as raised:
        problems.stop_if_any()
    return str(raised.value)


def test_rules_come_back_as_they_were_written() -> None:
    rules: list[dict[str, Any]] = [
        {"name": "a", "when": "job.exclusive", "deny": "no", "on_error": "allow"},
        {"name": "b", "set": {"env": {"A": "1"}, "max_duration": "12h"}, "override": True},
        {"name": "c", "require_tags": ["x", "y"]},
        {"name": "d", "plugin": "p", "time_limit": "500ms"},
    ]
    problems = Problems(Document(file="file", value=rules))
    assert admission_document(admission_part(rules, problems, ())) == rules
    assert problems.count == 0


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({}, "must be a list of rules"),
        ([{"name": "a", "warn": "x"}] * (ADMISSION_RULES + 1), "rules are too many"),
        ([{"name": "a", "warn": "x"}, {"name": "a", "warn": "y"}], "there are two rules 'a'"),
        ([{"name": "a/b", "warn": "x"}], "is not a name for a rule"),
        ([{"name": "a", "warn": " "}], "must say something"),
        ([{"name": "a", "warn": "x" * 2000}], "is too long"),
        ([{"name": "a", "dent": "x"}], "did you mean 'deny'?"),
        ([{"name": "a", "warn": "x", "override": True}], "only `set` can override"),
        ([{"name": "a", "warn": "x", "time_limit": "1s"}], "only a plug-in has a time limit"),
        ([{"name": "a", "plugin": "x", "time_limit": "1h"}], "would wait too long"),
        ([{"name": "a", "set": {}}], "must be a mapping"),
        ([{"name": "a", "set": {"setup": "x" * 20_000}}], "is too long"),
        ([{"name": "a", "set": {"priority": {1}}}], "holds values that no job file has"),
        ([{"name": "a", "set": {"bundle": {}}}], "no rule can set bundle"),
        ([{"name": "a", "set": {"priority": "high"}}], "must be a whole number"),
        ([{"name": "a", "warn": "x", "on_error": "maybe"}], "must be one of deny, allow"),
    ],
)
def test_what_is_wrong_with_rules_is_said(value: object, problem: str) -> None:
    assert problem in _problems(admission_part, value)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([], "must be a mapping of names"),
        ({f"p{number}": {"priority": 1} for number in range(PROFILES + 1)}, "profiles are too many"),
        ({"a b": {"priority": 1}}, "is not a name for a profile"),
        ({"a": 3}, "must be a mapping of keys"),
        ({"a": {"name": "x"}}, "a profile cannot say name"),
        ({"a": {"resources": {"gpu": 1}}}, "did you mean 'gpus'?"),
    ],
)
def test_what_is_wrong_with_profiles_is_said(value: object, problem: str) -> None:
    assert problem in _problems(profiles_part, value)


def test_a_job_that_names_no_profile_stays_as_it_is_and_an_unknown_one_lists_those_there_are() -> None:
    job = Document(file="job.yaml", value={"name": "a"}, text="name: a\n")
    assert with_profile(job, {}) is job
    unknown = Document(file="job.yaml", value={"name": "a", "profile": "x"}, text="name: a\nprofile: x\n")
    with pytest.raises(InvalidDocument, match=r"job.yaml:2: profile: there is no profile 'x' \(there are: none; an op"):
        with_profile(unknown, {})
    with pytest.raises(InvalidDocument, match=r"\(there are: large, small\)"):
        with_profile(unknown, {"large": {}, "small": {}})


def test_profiles_come_back_as_they_were_written() -> None:
    written = {"p": {"env": {"A": "1"}, "resources": {"gpus": 1}}}
    assert profiles_document(profiles_part(written, Problems(Document(file="f", value=written)), ())) == written


def test_mappings_are_filled_key_by_key_and_other_values_are_taken_whole() -> None:
    given = {"env": {"A": "own", "C": None}, "exclude": ["n1"], "tier": None, "name": "a"}
    defaults = {"env": {"A": "x", "B": "y", "C": "z"}, "exclude": ["n2"], "tier": "standard", "team": None}
    after = filled(given, defaults)
    assert after == {"env": {"A": "own", "B": "y", "C": "z"}, "exclude": ["n1"], "tier": "standard", "name": "a"}
    assert sorted(differences(given, after)) == ["env.B", "env.C", "tier"]
    assert replaced({"env": {"A": "own"}, "x": 1}, {"env": {"A": "x"}, "x": {"y": 2}}) == {
        "env": {"A": "x"},
        "x": {"y": 2},
    }
    assert list(differences({}, {"checkpoint": {"path": "/a", "keep": 2}})) == ["checkpoint.path", "checkpoint.keep"]


def test_roles_and_a_single_kind_of_worker_are_never_mixed() -> None:
    roles = {"roles": {"a": {"run": "x"}}}
    assert completed(roles, {"run": "y", "workers": 2, "priority": 1}) == {**roles, "priority": 1}
    assert completed({"run": "y"}, {**roles, "priority": 1}) == {"run": "y", "priority": 1}
    assert completed({"name": "a"}, roles) == {"name": "a", **roles}
