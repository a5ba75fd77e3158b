"""A disk that is full stops writing and nothing else; once there is room, writing goes on."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from sqlalchemy import Connection

from muster.client import Client
from muster.model.audit import AuditEntry
from muster.model.errors import Unavailable
from muster.model.events import Event, StartFailed
from muster.model.ids import JobId
from muster.store.sql import SqlStore, open_store
from tests.capabilities import needs
from tests.crash.server import DEADLINE_S, until
from tests.crash.server import Server as ControlPlane
from tests.postgres import Server

ENTRY = AuditEntry(at_ms=1, by="ann", action="jobs.submit", subject="job-1")
LARGE = 300
"""Events that fill a small disk after a few appends."""


def events(count: int) -> list[Event]:
    return [
        StartFailed(at_ms=1, job=JobId("job-1"), attempt=1, generation=1, ranks=(0,), message="x" * 1_000)
        for _ in range(count)
    ]


def fill_up(store: SqlStore) -> int:
    """Append until there is no room; the version the log had then."""
    version = store.log.version
    for _ in range(200):
        try:
            version = store.log.append(events(LARGE), version, audit=[ENTRY])
        except Unavailable as refused:
            told = str(refused)
            break
    else:
        pytest.fail("there was always room")
    assert "disk is full" in told
    assert "make room" in told
    return version


def check_unharmed(store: SqlStore, version: int) -> None:
    assert store.log.version == version
    assert len(list(store.log.read())) == version
    assert len(store.audit.entries(0, 1_000)) == version // LARGE
    assert store.audit.verify().is_whole


def test_a_file_that_may_not_grow_is_refused_and_unharmed(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path}/muster.db", write=True) as store:
        with limited(store, pages=600):
            version = fill_up(store)
            check_unharmed(store, version)
            with pytest.raises(Unavailable):
                store.states.save_state(version, "layout", bytes(4_000_000))
            assert store.states.load_state("layout") is None
        assert store.log.append(events(LARGE), version, audit=[ENTRY]) == version + LARGE
        check_unharmed(store, version + LARGE)


@contextmanager
def limited(store: SqlStore, *, pages: int) -> Iterator[None]:
    """Keep the file from growing, as a full disk would, by SQLite's own means."""
    with store._database.writing("limit") as connection:
        _limit(connection, pages)
    yield
    with store._database.writing("limit") as connection:
        _limit(connection, 1 << 30)


def _limit(connection: Connection, pages: int) -> None:
    connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}").close()


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of a few megabytes that every user may use."""
    with a_disk(6) as folder:
        yield folder


@contextmanager
def a_disk(megabytes: int) -> Iterator[Path]:
    """A file system that every user may use."""
    needs("mounting")
    folder = Path(tempfile.mkdtemp(prefix="muster-disk-"))
    folder.chmod(0o755)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0777", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, capture_output=True, check=True)
        try:
            yield folder
        finally:
            subprocess.run(["umount", "-l", folder], check=True)
    finally:
        folder.rmdir()


def test_a_file_on_a_full_disk_is_refused_and_unharmed(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(2_000_000))
    with open_store(f"sqlite:///{small_disk}/muster.db", write=True) as store:
        version = fill_up(store)
        check_unharmed(store, version)
        ballast.unlink()
        assert store.log.append(events(LARGE), version, audit=[ENTRY]) == version + LARGE
        check_unharmed(store, version + LARGE)
    with open_store(f"sqlite:///{small_disk}/muster.db", write=True) as store:
        check_unharmed(store, version + LARGE)


def test_a_full_postgres_is_refused_and_unharmed(small_disk: Path, postgres: Server) -> None:
    ballast = small_disk / "ballast"
    space = small_disk / "space"
    space.mkdir()
    owner = postgres.folder.stat()
    os.chown(space, owner.st_uid, owner.st_gid)
    ballast.write_bytes(bytes(2_000_000))
    postgres.run(f"CREATE TABLESPACE small LOCATION '{space}'")
    url = postgres.new_url()
    with open_store(url, write=True) as store:
        with store._database.writing("move") as connection:
            connection.exec_driver_sql("ALTER TABLE events SET TABLESPACE small")
        version = fill_up(store)
        check_unharmed(store, version)
        ballast.unlink()
        assert store.log.append(events(LARGE), version, audit=[ENTRY]) == version + LARGE
        check_unharmed(store, version + LARGE)
        with store._database.writing("move") as connection:
            connection.exec_driver_sql("ALTER TABLE events SET TABLESPACE pg_default")
    postgres.run("DROP TABLESPACE small")


def test_a_server_on_a_full_disk_says_so_and_goes_on_once_there_is_room(small_disk: Path, tmp_path: Path) -> None:
    job = {"name": "large", "run": f"true # {'x' * 50_000}"}
    arguments = ("--database", f"sqlite:///{small_disk}/muster.db")
    with ControlPlane(tmp_path, arguments=arguments) as server:
        client = server.start()
        (small_disk / "ballast").write_bytes(bytes(3_000_000))
        submitted: list[str] = []
        with pytest.raises(Unavailable, match="disk is full"):
            submitted.extend(client.submit(job).id for _ in range(200))
        assert [client.job(each).id for each in submitted] == submitted
        (small_disk / "ballast").unlink()
        until(lambda: _accepts(client))
        assert {each.id for each in client.jobs()} >= set(submitted)


def _accepts(client: Client) -> bool:
    try:
        return bool(client.submit({"name": "small", "run": "true"}).id)
    except Unavailable:
        return False


def test_output_cannot_fill_the_disk_that_the_log_lives_on() -> None:
    """Neither that of one job nor that of many, while they run and after they ended."""
    noisy = {"name": "noisy", "run": "echo begin; head -c 60000000 /dev/zero; echo end"}
    with a_disk(64) as disk, ControlPlane(disk) as server:
        client = server.start()
        jobs = [client.submit(noisy).id for _ in range(6)]
        least = 64 << 20

        def all_ended() -> bool:
            nonlocal least
            found = os.statvfs(disk)
            least = min(least, found.f_bavail * found.f_frsize)
            client.submit({"name": "small", "run": "true"})
            return all(client.job(job).state == "succeeded" for job in jobs)

        until(all_ended)
        assert least > 1 << 20
        assert b"".join(part.text for part in client.logs(jobs[-1], offset=-10)).endswith(b"end\n")


@pytest.mark.parametrize("is_killed", [True, False], ids=["killed", "stopped"])
def test_a_start_on_a_full_disk_serves_reads_and_writes_once_there_is_room(small_disk: Path, is_killed: bool) -> None:
    home = small_disk / "home"
    home.mkdir()
    with ControlPlane(home) as server:
        client = server.start()
        job = client.submit({"name": "before", "run": "true"}).id
        client.wait(job, timeout=DEADLINE_S)
        server.kill() if is_killed else server.stop()
        fill(small_disk / "ballast")
        client = server.start()
        assert client.job(job).state == "succeeded"
        with pytest.raises(Unavailable, match=r"disk is full.*make room"):
            client.submit({"name": "refused", "run": "true"})
        health = httpx.get(f"{client.url}/healthz").json()
        assert (health["status"], health["reason"]) == ("degraded", "the disk is full")
        (small_disk / "ballast").unlink()
        until(lambda: _accepts(client))
        assert httpx.get(f"{client.url}/healthz").json()["status"] == "ok"
        assert "Traceback" not in (home / "output").read_text()
        assert "Traceback" not in (home / "server.log").read_text()


def fill(ballast: Path) -> None:
    """Leave no room for a single byte."""
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
