"""A limit that limits nothing says whose a process is."""

import os
import resource
import subprocess
from pathlib import Path

import pytest

from muster.worker.processes.marks import fasten, inherited, mark_of, marks_on

MARK = mark_of("0123456789abcdef")


def test_different_tokens_have_different_marks() -> None:
    assert len({mark_of(f"{number:016x}") for number in range(1_000)}) == 1_000
    assert mark_of("f" * 16) < 1 << 62


def test_what_is_started_bears_the_mark_and_the_starter_does_not() -> None:
    with inherited(MARK):
        process = subprocess.Popen(["sleep", "60"])
    with process:
        assert MARK in marks_on(process.pid)
        assert marks_on(os.getpid()) == ()
        fasten(process.pid, MARK)
        assert marks_on(process.pid) == (MARK, MARK)
        process.kill()


def test_a_process_without_a_mark_gets_none_and_one_that_is_gone_has_none() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        fasten(process.pid, MARK)
        assert marks_on(process.pid) == ()
        process.kill()
    fasten(process.pid, MARK)
    assert marks_on(process.pid) == ()


def test_where_others_have_set_the_limit_it_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (5, 5))
    monkeypatch.setattr(resource, "setrlimit", lambda *given: asked.append(given))
    with inherited(MARK):
        pass
    assert not asked


def test_it_outlives_a_session_and_an_environment(tmp_path: Path) -> None:
    said = tmp_path / "limits"
    with inherited(MARK):
        subprocess.run(["env", "-i", "setsid", "sh", "-c", f"cat /proc/self/limits >{said}"], check=True)
    assert str(MARK) in said.read_text()
