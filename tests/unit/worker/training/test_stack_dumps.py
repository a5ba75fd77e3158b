"""Processes write their stacks when they are asked, and one that does not is looked at from outside."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.worker.loop import Loop
from muster.worker.processes.companions import Companions
from muster.worker.processes.process_table import ended_children
from muster.worker.training import stack_dumps
from muster.worker.training.stack_dumps import SILENT, StackDumps, StackRequest, Texts

DEAF = 'trap "" USR2; echo ready; sleep 60 & wait'
WRITES = 'trap "echo the stack >>$0" USR2; echo ready; while :; do sleep 60 & wait; done'


@pytest.fixture
def spawned() -> Iterator[list[subprocess.Popen[bytes]]]:
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        with process:
            os.killpg(process.pid, signal.SIGKILL)


def a_request(folder: Path, script: str, spawned: list[subprocess.Popen[bytes]], rank: int = 0) -> StackRequest:
    (folder / "boards").mkdir(exist_ok=True)
    path = folder / "boards" / f"rank-{rank}.stack"
    process = subprocess.Popen(["/bin/sh", "-c", script, str(path)], stdout=subprocess.PIPE, start_new_session=True)
    spawned.append(process)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return StackRequest(rank=rank, pid=process.pid, worker_folder=folder)


def taken(requests: list[StackRequest], search: Path) -> Texts:
    loop, companions, found = Loop(settle=lambda: None), Companions(), Texts()

    def heard(texts: Texts) -> None:
        found.update(texts)
        loop.stop()

    def reap() -> None:
        for pid, status in ended_children():
            companions.reaped(pid, status)
        loop.after(5, reap)

    StackDumps(loop, companions, [str(search)]).take(requests, heard)
    reap()
    loop.after(20_000, loop.stop)
    loop.run()
    loop.close()
    return found


def test_what_a_process_writes_is_told_without_what_it_wrote_before(
    tmp_path: Path, spawned: list[subprocess.Popen[bytes]]
) -> None:
    request = a_request(tmp_path, WRITES, spawned)
    request.path.write_text("before\n")
    assert taken([request], tmp_path) == {0: "the stack\n"}


def test_a_process_that_writes_nothing_is_looked_at_by_another_program(
    tmp_path: Path, spawned: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack_dumps, "STACKS_MS", 100)
    request, other = a_request(tmp_path, DEAF, spawned), a_request(tmp_path, WRITES, spawned, rank=1)
    assert taken([request], tmp_path) == {0: SILENT}
    spy = tmp_path / "py-spy"
    spy.write_text('#!/bin/sh\necho "spied on" "$@"\n')
    spy.chmod(0o700)
    monkeypatch.setattr(stack_dumps, "STACKS_MS", 2_000)
    assert taken([request, other], tmp_path) == {0: f"spied on dump --pid {request.pid}\n", 1: "the stack\n"}


def test_a_program_that_looks_without_end_is_ended(
    tmp_path: Path, spawned: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack_dumps, "STACKS_MS", 1)
    monkeypatch.setattr(stack_dumps, "SPY_MS", 50)
    request = a_request(tmp_path, DEAF, spawned)
    spy = tmp_path / "py-spy"
    spy.write_text("#!/bin/sh\nexec sleep 60\n")
    spy.chmod(0o700)
    assert taken([request], tmp_path) == {0: SILENT}


def test_a_link_in_place_of_the_file_is_not_followed(tmp_path: Path, spawned: list[subprocess.Popen[bytes]]) -> None:
    request = a_request(tmp_path, WRITES, spawned)
    (tmp_path / "secret").write_text("secret\n" * 10)
    request.path.symlink_to(tmp_path / "secret")
    assert "secret" not in request.text()
