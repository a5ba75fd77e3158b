"""A skip is excused by what the machine lacks, and by nothing else."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests import capabilities
from tests.capabilities import CAPABILITIES, PREFIX, is_there, unexcused

ROOT = Path(__file__).parents[2]

SKIPS = f"""
import pytest
from tests import capabilities

capabilities.CAPABILITIES["wings"] = lambda: False
capabilities.CAPABILITIES["feet"] = lambda: True

def test_runs(): pass
def test_flies(): capabilities.needs("wings")
def test_walks(): capabilities.needs("feet")
def test_steps_aside(): pytest.skip("not today")
def test_pretends(): pytest.skip("{PREFIX}feet")
@pytest.mark.skip(reason="{PREFIX}mercy")
def test_never(): pass
"""


def run(folder: Path, *options: str, text: str = SKIPS) -> str:
    file = folder / "test_some.py"
    file.write_text(text, "utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "tests.capabilities", "-p", "no:cacheprovider", "-rfE", *options]
    configured = [*command, "--rootdir", str(folder), "-c", "/dev/null", str(file)]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(configured, cwd=ROOT, env=alone, check=False, capture_output=True, text=True).stdout


def test_only_what_a_machine_lacks_excuses_a_skip(tmp_path: Path) -> None:
    said = run(tmp_path, "--strict-skips")
    assert "2 failed, 2 passed, 1 skipped, 1 error" in said
    for name in ("test_steps_aside", "test_pretends", "test_never"):
        assert f"::{name}" in said.partition("short test summary")[2]
    assert "'not today' is not among what a machine may lack" in said
    assert "this machine does not lack feet" in said
    assert "skipped 1 test: this machine lacks wings" in said


def test_a_run_that_is_not_strict_may_skip_and_says_so(tmp_path: Path) -> None:
    said = run(tmp_path)
    assert "2 passed, 4 skipped" in said
    assert "skipped 1 test: not today" in said


def test_a_whole_file_cannot_step_aside_either(tmp_path: Path) -> None:
    text = "import pytest\npytest.importorskip('no_such_module')\n"
    assert "1 error" in run(tmp_path, "--strict-skips", text=text)


def test_the_tests_of_this_project_are_run_strictly() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    runs = [line for line in makefile.splitlines() if "pytest -n" in line]
    assert len(runs) >= 4
    assert [line for line in runs if "--strict-skips" not in line] == []


@pytest.mark.parametrize("name", CAPABILITIES)
def test_what_is_there_excuses_no_skip(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for here in (True, False):
        is_there.cache_clear()
        monkeypatch.setitem(CAPABILITIES, name, partial(bool, here))
        assert bool(unexcused(f"{PREFIX}{name}")) is here
    is_there.cache_clear()


def test_what_cannot_be_made_is_lacking(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(capabilities, "CGROUPS", tmp_path)
    assert not CAPABILITIES["limits of processes"]()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not CAPABILITIES["mounting"]()
    assert not CAPABILITIES["a compiler"]()
