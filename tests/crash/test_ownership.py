"""A database governs the nodes of one home. Restored, lost or opened from elsewhere, it runs nothing twice."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.backends.local.ownership import traces
from muster.model.errors import Conflict, NotFound
from muster.worker.supervisor_address import supervisor_address
from tests.crash.server import Server, until

CLAIMS = """
exec 9>>{folder}/claim-$MUSTER_JOB
flock -n 9 || echo "$MUSTER_JOB $MUSTER_ATTEMPT twice" >> {folder}/violations
echo "$MUSTER_JOB $MUSTER_ATTEMPT start" >> {folder}/ledger
trap '' TERM
until [ -e {folder}/end ]; do sleep 0.02; done
echo "$MUSTER_JOB $MUSTER_ATTEMPT end" >> {folder}/ledger
"""
"""Holds a lock while it lives, so that a second one of its job is noticed whenever it comes."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    home = tmp_path / "home"
    home.mkdir()
    with Server(home, nodes="2x2") as made:
        made.start()
        yield made
    (tmp_path / "end").touch()


def a_job(folder: Path, **keys: object) -> dict[str, object]:
    return {"name": "claims", "run": CLAIMS.format(folder=folder), "resources": {"gpus": 1}, **keys}


def ledger(folder: Path) -> list[str]:
    path = folder / "ledger"
    return path.read_text().splitlines() if path.exists() else []


def twice(folder: Path) -> list[str]:
    path = folder / "violations"
    return path.read_text().splitlines() if path.exists() else []


def submitted(server: Server, folder: Path, **keys: object) -> str:
    job = server.client.submit(a_job(folder, **keys)).id
    until(lambda: any(line.startswith(f"{job} ") for line in ledger(folder)))
    return job


def refused(home: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "muster.main", "serve", "--home", str(home), "--port", "0", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 3, done.stderr
    return done.stderr


def test_a_dead_supervisors_job_starts_elsewhere_only_when_its_workers_are_gone(server: Server, tmp_path: Path) -> None:
    job = submitted(server, tmp_path)
    (worker,) = server.client.job(job).workers
    for _ in range(3):
        found = supervisor_address(server.home / "nodes" / worker.node)
        assert found is not None
        attempt = server.client.job(job).attempt
        os.kill(found.pid, signal.SIGKILL)
        until(lambda attempt=attempt: f"{job} {attempt + 1} start" in ledger(tmp_path))  # type: ignore[misc]
        (worker,) = server.client.job(job).workers
    assert twice(tmp_path) == []


def test_another_home_is_refused_and_takes_over_only_when_told_to(server: Server, tmp_path: Path) -> None:
    job = submitted(server, tmp_path)
    server.stop()
    other = tmp_path / "other"
    other.mkdir()
    database = ("--database", f"sqlite:///{server.home / 'muster.db'}")
    said = refused(other, "--nodes", "2x2", *database)
    assert str(server.home) in said
    assert "--take-over" in said
    assert not (other / "nodes").exists()
    with Server(other, nodes="2x2", arguments=(*database, "--take-over")) as heir:
        heir.start()
        until(lambda: f"{job} 2 start" in ledger(tmp_path))
        assert twice(tmp_path) == []
        assert supervisor_address(server.home / "nodes" / "n1") is None
        heir.stop()
        assert str(other) in refused(server.home, "--nodes", "2x2")


@pytest.mark.parametrize("failpoint", ["lead.after-commit", "fence.recorded"])
def test_a_take_over_that_is_killed_in_the_middle_is_finished_by_the_next_start(
    server: Server, tmp_path: Path, failpoint: str
) -> None:
    job = submitted(server, tmp_path)
    done = server.client.submit({"name": "done", "run": f"until [ -e {tmp_path}/go ]; do sleep 0.02; done"}).id
    until(lambda: server.client.job(done).state == "running")
    server.kill()
    (tmp_path / "go").touch()
    until(lambda: any('"WorkersExited"' in path.read_text() for path in server.home.glob("nodes/*/journal")))
    other = tmp_path / "other"
    other.mkdir()
    database = ("--database", f"sqlite:///{server.home / 'muster.db'}")
    with Server(other, nodes="2x2", arguments=(*database, "--take-over")) as heir:
        heir.start(f"{failpoint}=kill@1")
        assert heir.await_death() == -signal.SIGKILL
        assert supervisor_address(server.home / "nodes" / "n1") is None
        heir.arguments = database
        client = heir.start()
        until(lambda: f"{job} 2 start" in ledger(tmp_path))
        assert client.job(job).node_failures == 1
        assert client.job(job).retries == 0
        assert (client.job(done).state, client.job(done).attempt) == ("succeeded", 1)
        assert twice(tmp_path) == []


def test_a_home_that_was_moved_away_is_not_taken_over_unless_an_operator_says_that_nothing_runs(
    server: Server, tmp_path: Path
) -> None:
    job = submitted(server, tmp_path)
    server.stop()
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(server.home / "muster.db", tmp_path / "copy.db")
    options = ("--nodes", "2x2", "--database", f"sqlite:///{tmp_path / 'copy.db'}", "--take-over")
    server.home.rename(tmp_path / "away")
    said = refused(other, *options)
    (tmp_path / "away").rename(server.home)
    assert f"{server.home / 'nodes'} is not there" in said
    assert "--take-over --fenced" in said
    assert f"{job} 2 start" not in ledger(tmp_path)
    assert supervisor_address(server.home / "nodes" / "n1") is not None


def test_a_start_that_is_refused_does_not_change_how_the_machine_is_used(server: Server, tmp_path: Path) -> None:
    assert "another control plane runs here" in refused(server.home, "--nodes", "1x1")
    assert (server.home / "layout").read_text() == "2x2\n"
    server.stop()
    other = tmp_path / "other"
    other.mkdir()
    assert "--take-over" in refused(other, "--nodes", "1x1", "--database", f"sqlite:///{server.home / 'muster.db'}")
    assert not (other / "layout").exists()


def test_an_empty_database_beside_nodes_that_run_things_is_refused(server: Server, tmp_path: Path) -> None:
    job = submitted(server, tmp_path)
    server.kill()
    for path in server.home.glob("muster.db*"):
        path.unlink()
    said = refused(server.home, "--nodes", "2x2")
    assert f"{job} (attempt 1) on n1" in said
    assert "--new-database" in said
    server.arguments = ("--new-database",)
    client = server.start()
    until(lambda: bool(list(client.quarantine())))
    (gang,) = client.quarantine()
    assert (gang.job, gang.attempt, gang.name, gang.state) == (job, 1, "claims", None)
    assert [node.quarantined_gpus for node in client.nodes()] == [(0,), ()]
    others = [submitted(server, tmp_path) for _ in range(3)]
    assert job not in others
    assert client.submit(a_job(tmp_path)).id not in (job, *others)
    client.adopt(job)
    assert client.job(job).state == "running"
    assert twice(tmp_path) == []
    assert len([line for line in ledger(tmp_path) if line.startswith(f"{job} ")]) == 1


def test_an_empty_database_where_there_was_another_is_refused_also_when_nothing_runs(server: Server) -> None:
    until(lambda: traces(server.home).has_obeyed)  # a server answers before it has spoken to its nodes
    server.stop()
    for path in server.home.glob("muster.db*"):
        path.unlink()
    assert "was it moved?" in refused(server.home, "--nodes", "2x2")
    server.arguments = ("--new-database",)
    assert list(server.start().jobs()) == []


def test_a_restored_backup_finds_what_it_forgot_and_starts_it_once(server: Server, tmp_path: Path) -> None:
    job = server.client.submit(a_job(tmp_path), held=True).id
    server.stop()
    for path in server.home.glob("muster.db*"):
        shutil.copy(path, tmp_path / f"backup-{path.name}")
    server.start()
    server.client.release(job)
    until(lambda: f"{job} 1 start" in ledger(tmp_path))
    forgotten = submitted(server, tmp_path)
    server.kill()
    for path in server.home.glob("muster.db*"):
        path.unlink()
    for path in tmp_path.glob("backup-*"):
        shutil.copy(path, server.home / path.name.removeprefix("backup-"))
    client = server.start()
    until(lambda: len(list(client.quarantine())) == 2)
    client.release(job)
    with pytest.raises(NotFound):
        client.job(forgotten)
    fresh = submitted(server, tmp_path)
    assert fresh not in (job, forgotten)
    assert client.job(job).state == "blocked"
    client.adopt(job)
    client.kill_quarantined(forgotten)
    until(lambda: not list(client.quarantine()))
    (tmp_path / "end").touch()
    until(lambda: client.job(job).state == "succeeded")
    assert client.job(job).attempt == 1
    assert twice(tmp_path) == []


def test_down_ends_what_dead_supervisors_left(server: Server, tmp_path: Path) -> None:
    submitted(server, tmp_path)
    submitted(server, tmp_path)
    found = [supervisor_address(folder) for folder in (server.home / "nodes").iterdir()]
    server.kill()
    for each in found:
        assert each is not None
        os.kill(each.pid, signal.SIGKILL)
    subprocess.run([sys.executable, "-m", "muster.main", "down", "--home", str(server.home)], check=True)
    for claim in tmp_path.glob("claim-*"):
        with claim.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_two_control_planes_never_share_a_home(server: Server, tmp_path: Path) -> None:
    said = refused(server.home, "--database", f"sqlite:///{tmp_path / 'second.db'}")
    assert "another control plane runs here" in said


def test_what_is_not_in_quarantine_is_not_there_to_be_killed(server: Server) -> None:
    with pytest.raises(NotFound):
        server.client.kill_quarantined("job-1")
    with pytest.raises((NotFound, Conflict)):
        server.client.adopt("job-1")
