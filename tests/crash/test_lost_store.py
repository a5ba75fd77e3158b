"""A server whose database is taken away, hangs or is taken over: it says so within seconds and acknowledges nothing."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from muster.client import Client
from muster.model.errors import MusterError, Unavailable
from tests.crash.server import Server as ControlPlane
from tests.crash.server import until
from tests.postgres import Server, running_server

SECONDS = 10
"""What "within seconds" means on a busy machine."""
JOB = {"name": "small", "run": "true"}


def health(client: Client) -> tuple[int, dict[str, Any]]:
    answer = httpx.get(f"{client.url}/healthz", timeout=SECONDS)
    return answer.status_code, answer.json()


def notices(client: Client, reason: str) -> None:
    """The server says within seconds what is wrong."""
    began_s = time.monotonic()
    until(lambda: reason in (health(client)[1]["reason"] or ""))
    assert time.monotonic() - began_s < SECONDS
    assert health(client)[1]["status"] == "degraded"


def accepts(client: Client) -> bool:
    try:
        return bool(client.submit(JOB).id)
    except Unavailable:
        return False


def test_a_database_that_is_moved_is_noticed_while_idle_and_used_again_once_it_is_back(tmp_path: Path) -> None:
    with ControlPlane(tmp_path) as server:
        client = server.start()
        acknowledged = [client.submit(JOB).id for _ in range(5)]
        away = (tmp_path / "muster.db").rename(tmp_path / "away.db")
        notices(client, "the database file was moved or deleted")
        with pytest.raises(Unavailable, match="Move it back"):
            client.submit(JOB)
        assert [client.job(job).id for job in acknowledged] == acknowledged
        away.rename(tmp_path / "muster.db")
        until(lambda: accepts(client))
        told = {
            "status": "ok",
            "version": health(client)[1]["version"],
            "reason": None,
            "role": "leader",
            "leader": None,
        }
        assert health(client) == (200, told)
        server.kill()
        client = server.start()
        assert {job.id for job in client.jobs()} >= set(acknowledged)


def test_limits_are_kept_while_the_database_is_away(tmp_path: Path) -> None:
    told, path = tmp_path / "told", tmp_path / "muster.db"
    run = f"trap 'touch {told}; exit 3' TERM; touch {tmp_path}/begun; while :; do sleep 0.05; done"
    with ControlPlane(tmp_path) as server:
        client = server.start()
        job = client.submit({"name": "long", "run": run, "max_duration": "6s"}).id
        until((tmp_path / "begun").exists)
        away = path.rename(tmp_path / "away.db")
        notices(client, "the database file was moved or deleted")
        until(told.exists)
        away.rename(path)
        until(lambda: client.job(job).state == "timed_out")


@pytest.mark.parametrize("wrong", ["deleted", "replaced", "cut", "journal"])
def test_a_database_that_is_gone_for_good_stops_the_writer(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "muster.db"
    with ControlPlane(tmp_path) as server:
        client = server.start()
        ended, alive = client.submit(JOB).id, client.submit(JOB, held=True).id
        client.wait(ended, timeout=SECONDS)
        server.stop()
        client = server.start()
        take_away(path, wrong)
        reason = {"deleted": "moved or deleted", "replaced": "replaced by another"}
        notices(client, reason.get(wrong, "the writer has stopped"))
        with pytest.raises(Unavailable):
            client.submit(JOB)
        assert client.job(alive).id == alive
        assert [each.id for each in client.jobs(state=["active"])] == [alive]
        with suppress(Unavailable):  # what has ended is known only as far as the database is
            assert client.job(ended).id == ended


def take_away(path: Path, wrong: str) -> None:
    match wrong:
        case "deleted":
            path.unlink()
        case "replaced":
            copy = path.with_name("copy")
            copy.write_bytes(path.read_bytes())
            copy.rename(path)
        case "cut":
            os.truncate(path, 4096)
        case _:
            path.with_name("muster.db-wal").unlink()


@contextmanager
def hanging(postgres: Server) -> Iterator[None]:
    """A server of which no process does anything, and whose connections are open."""
    stopped = [postgres.process.pid, *children(postgres.process.pid)]
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)


def children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(each) for each in found]


@pytest.fixture
def own_postgres() -> Iterator[Server]:
    """A server that no other test uses, because it is made to hang."""
    with running_server() as server:
        yield server


def test_a_postgres_that_hangs_shows_and_reads_do_not_hang(tmp_path: Path, own_postgres: Server) -> None:
    with ControlPlane(tmp_path, arguments=("--database", own_postgres.new_url())) as server:
        client = server.start()
        ended, alive = client.submit(JOB).id, client.submit(JOB, held=True).id
        client.wait(ended, timeout=SECONDS)
        with hanging(own_postgres):
            notices(client, "does not answer")
            began_s = time.monotonic()
            assert client.job(alive).id == alive
            assert [each.id for each in client.jobs(state=["active"])] == [alive]
            with pytest.raises(Unavailable, match="not answered"):
                client.job(ended)
            assert time.monotonic() - began_s < SECONDS
            with pytest.raises(Unavailable, match="not answered"):
                client.submit(JOB)
            with pytest.raises(Unavailable, match="does not answer"):
                list(client.audit())
        until(lambda: accepts(client))
        assert health(client)[1]["status"] == "ok"


def test_a_server_whose_lock_another_holds_stands_by_until_it_is_free(tmp_path: Path, own_postgres: Server) -> None:
    url = own_postgres.new_url()
    with ControlPlane(tmp_path, arguments=("--database", url)) as server:
        client = server.start()
        client.submit(JOB)
        with own_postgres.connect() as other:
            schema = url.rpartition("search_path%3D")[2]
            other.execute(f"SET search_path = {schema}")
            other.execute(
                "SELECT pg_terminate_backend(l.pid) FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted"
            )
            other.execute("SELECT pg_advisory_lock(1297437524, hashtext(current_schema()))")
            notices(client, "another process has become the writer")
            with pytest.raises(MusterError):
                client.submit(JOB)
            until(lambda: role_of(client) == "standby")
            assert list(client.jobs())
        until(lambda: role_of(client) == "leader")
        assert client.submit(JOB).id
        assert "Traceback" not in (tmp_path / "output").read_text()


def role_of(client: Client) -> str:
    """What a server says it is; empty while it changes roles."""
    with suppress(httpx.HTTPError):
        return str(health(client)[1]["role"])
    return ""
