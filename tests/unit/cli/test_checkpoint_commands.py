"""`muster checkpoints` when the storage of a job that has ended cannot be reached."""

from tests.unit.cli.conftest import Terminal
from tests.unit.client.fake_server import FakeServer

KNOWN = {
    "step": 20,
    "at": "2026-03-02T11:40:00Z",
    "bytes": 1000,
    "ranks": 2,
    "complete": True,
    "verified": None,
    "where": ["durable"],
    "path": "s3://bucket/run/step-000000000020",
    "problem": None,
}


def test_what_is_known_is_shown_and_that_nobody_could_look(terminal: Terminal, server: FakeServer) -> None:
    away = {**KNOWN, "unread": "the checkpoints cannot be read: no route\x1b[31m to host"}
    server.answers["GET /v1/jobs/job-1/checkpoints"] = {"items": [away], "next": None}
    for words in (("ls", "job-1"), ("show", "job-1")):
        text = " ".join(terminal.type("checkpoints", *words).output.split())
        assert "durable" in text
        assert "route\x1b" not in text
        assert "muster: the checkpoints cannot be read: no route" in text
        assert "try again when the storage can be reached" in text


def test_nothing_is_said_of_storage_that_was_looked_at(terminal: Terminal, server: FakeServer) -> None:
    server.answers["GET /v1/jobs/job-1/checkpoints"] = {"items": [KNOWN], "next": None}
    assert "storage" not in terminal.type("checkpoints", "ls", "job-1").output
