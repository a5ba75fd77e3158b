"""What hangs in a process that judges, crashes it or answers nonsense stops neither the server nor other rules."""

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.api.admission.checking import check_admission
from muster.api.admission.judges import Judges
from muster.formats.admission.judging import AskedJob, Judgement
from muster.model.errors import InvalidInput
from muster.model.policy import AdmissionRule, EffectKind, OnError

HANGING_LIBRARY = """
    import os, time

    class Kind:
        def name(self):
            return "BOOL"

    class Found:
        def type(self):
            return Kind()
        def value(self):
            return True

    class Expression:
        def __init__(self, text):
            self.text = text
        def return_type(self):
            return Kind()
        def eval(self, about):
            if "hang" in self.text:
                time.sleep(600)
            if "crash" in self.text:
                os.abort()
            return Found()

    class Env:
        def compile(self, text):
            return Expression(text)
        def Activation(self, data):
            return data

    class Type:
        STRING = INT = DOUBLE = DYN = TIMESTAMP = None
        @staticmethod
        def Map(key, value):
            return None

    def Overload(*args, **more):
        return None

    def FunctionDecl(*args):
        return None

    def NewEnv(**more):
        return Env()
"""
PLUGINS = """
    import os, sys, time

    def cost_centre(job, user, team, now):
        if "cost" not in job["tags"]:
            return {"deny": f"{user} must say a cost centre"}
        print("noise", flush=True)
        return {"set": {"tags": {"year": str(now.year)}}, "warn": "looked up"}

    def hangs(job, user, team, now):
        time.sleep(600)

    def raises(job, user, team, now):
        raise RuntimeError("no directory")

    def exits(job, user, team, now):
        os._exit(3)

    def nonsense(job, user, team, now):
        return 42

    def reaches(job, user, team, now):
        return {"set": {"team": "other"}}
"""
NAMES = ("cost_centre", "hangs", "raises", "exits", "nonsense", "reaches")


def _asked(**keys: object) -> AskedJob:
    job = {"name": "train", "tags": {}, **keys}
    return AskedJob(given=dict(job), view=job, user="ada", team="nlp", now_ms=1_767_225_600_000)


@pytest.fixture
def judges() -> Iterator[Judges]:
    made = Judges(limit_ms=500)
    yield made
    made.close()


@pytest.fixture
def _plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with plug-ins, as `pip install` would leave it."""
    (tmp_path / "site_rules.py").write_text(textwrap.dedent(PLUGINS))
    told = tmp_path / "site_rules-1.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: site-rules\nVersion: 1\n")
    lines = [f"{name} = site_rules:{name}" for name in NAMES] + ["missing = nowhere:x"]
    (told / "entry_points.txt").write_text("\n".join(["[muster.admission]", *lines]))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.fixture
def _hanging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library for conditions that hangs and crashes on demand."""
    (tmp_path / "cel_expr_python").mkdir()
    (tmp_path / "cel_expr_python" / "__init__.py").write_text("from cel_expr_python import cel\n")
    (tmp_path / "cel_expr_python" / "cel.py").write_text(textwrap.dedent(HANGING_LIBRARY))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def _plugin(name: str, **fields: object) -> AdmissionRule:
    return AdmissionRule(name=f"by {name}", plugin=name, **fields)  # type: ignore[arg-type]


def _said(found: Judgement) -> str:
    return "" if found.denial is None else f"{found.denial.rule}: {found.denial.message}"


@pytest.mark.usefixtures("_hanging")
@pytest.mark.parametrize("how", ["hang", "crash"])
def test_a_condition_that_breaks_its_process_fails_as_its_rule_says_and_others_are_judged(
    judges: Judges, how: str
) -> None:
    closed = (AdmissionRule(name="first", when="true", warn="1"), AdmissionRule(name="bad", when=how, deny="no"))
    found = judges.judge(closed, _asked())
    why = "it took longer than 0.7 s" if how == "hang" else "its process has ended"
    assert _said(found).startswith(f"bad: could not be judged: {why}")
    opened = (
        closed[0],
        AdmissionRule(name="bad", when=how, deny="no", on_error=OnError.ALLOW),
        AdmissionRule(name="last", when="true", warn="2"),
    )
    found = judges.judge(opened, _asked())
    assert found.denial is None
    assert sorted(effect.rule for effect in found.effects) == ["bad", "first", "last"]
    fine = judges.judge((closed[0],), _asked())
    assert [effect.message for effect in fine.effects] == ["1"]


@pytest.mark.usefixtures("_hanging")
def test_a_job_is_refused_when_too_many_rules_break_the_process(judges: Judges) -> None:
    rules = tuple(
        AdmissionRule(name=f"r{place}", when="crash", deny="no", on_error=OnError.ALLOW) for place in range(9)
    )
    assert _said(judges.judge(rules, _asked())).startswith("r3: could not be judged")


@pytest.mark.usefixtures("_plugins")
def test_a_plug_in_denies_sets_and_warns_in_its_place_among_the_rules(judges: Judges) -> None:
    rules = (
        AdmissionRule(name="before", when="!('cost' in job.tags)", values='{"tags": {"cost": "none"}}'),
        _plugin("cost_centre", when="team == 'nlp'"),
        AdmissionRule(name="after", when="job.tags.year == '2026'", warn="this year"),
    )
    found = judges.judge(rules, _asked())
    assert found.denial is None
    assert found.given["tags"] == {"cost": "none", "year": "2026"}
    assert [(effect.rule, effect.kind, effect.keys or effect.message) for effect in found.effects] == [
        ("before", EffectKind.SET, ("tags.cost",)),
        ("by cost_centre", EffectKind.WARN, "looked up"),
        ("by cost_centre", EffectKind.SET, ("tags.year",)),
        ("after", EffectKind.WARN, "this year"),
    ]
    assert _said(judges.judge(rules[1:], _asked())) == "by cost_centre: ada must say a cost centre"


@pytest.mark.usefixtures("_plugins")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("hangs", "it took longer than 0.2 s"),
        ("raises", "RuntimeError: no directory"),
        ("exits", "its process has ended"),
        ("nonsense", "it answered '42'"),
        ("reaches", "it set team, which no rule can set"),
        ("missing", "ModuleNotFoundError"),
        ("unknown", "no installed package has the plug-in 'unknown'"),
    ],
)
def test_a_plug_in_that_fails_is_closed_or_open_as_its_rule_says(judges: Judges, name: str, why: str) -> None:
    judges.judge((_plugin("nonsense"),), _asked())  # the first process of a pool takes a while to start
    began_s = time.monotonic()
    closed = judges.judge((_plugin(name, time_limit_ms=200),), _asked())
    assert time.monotonic() - began_s < 15
    assert _said(closed).startswith(f"by {name}: could not be judged: {why}")
    opened = judges.judge((_plugin(name, time_limit_ms=200, on_error=OnError.ALLOW),), _asked())
    assert opened.denial is None
    assert opened.effects[0].message.startswith("could not be judged, and was passed over")
    assert judges.judge((AdmissionRule(name="fine", when="true", warn="1"),), _asked()).effects[0].message == "1"


@pytest.mark.usefixtures("_plugins")
def test_a_rule_whose_plug_in_is_not_installed_is_no_rule_of_this_server() -> None:
    check_admission((_plugin("hangs"),))
    with pytest.raises(InvalidInput, match="did you mean 'hangs'"):
        check_admission((_plugin("hang"),))


def test_what_was_sound_once_and_is_no_condition_today_fails_as_its_rule_says(judges: Judges) -> None:
    rules = (AdmissionRule(name="old", when="nowhere()", deny="no"),)
    assert _said(judges.judge(rules, _asked())).startswith("old: could not be judged: ")


@pytest.mark.usefixtures("_plugins")
def test_a_plug_in_that_hangs_does_not_outlive_its_server() -> None:
    program = (
        "import os, sys\n"
        "from muster.api.admission.judge_process import JudgeProcess\n"
        "from muster.api.admission.messages import PluginQuestion, encoded\n"
        "process = JudgeProcess('hangs')\n"
        "print(process._process.pid, flush=True)\n"
        "process.ask(encoded(PluginQuestion(view={}, user='a', team='b', now_ms=0)), 600_000)\n"
    )
    server = subprocess.Popen((sys.executable, "-c", program), stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    with server.stdout:
        process = int(server.stdout.readline())
    os.kill(process, 0)
    server.kill()
    server.wait()
    until_s = time.monotonic() + 30
    while Path(f"/proc/{process}").exists() and "Z" not in Path(f"/proc/{process}/stat").read_text().split()[2]:
        assert time.monotonic() < until_s
        time.sleep(0.05)
