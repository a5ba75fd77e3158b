import json

from tests.unit.cli.conftest import Terminal
from tests.unit.client.fake_server import FakeServer, a_running_job

STACKS = {
    "job": "job-1",
    "attempt": 2,
    "stacks": [{"rank": 0, "stack": "File a.py\nFile b.py\n"}, {"rank": 7, "stack": "File c.py\x1b[31m"}],
}


def test_stacks_are_printed_rank_by_rank(terminal: Terminal, server: FakeServer) -> None:
    server.answers["GET /v1/jobs/job-1/stacks"] = STACKS
    text = terminal.shows("stacks", "job-1")
    assert text.startswith("rank 0\nFile a.py\nFile b.py\n\nrank 7\nFile c.py")
    assert "\x1b" not in text
    assert terminal.shows("stacks", "job-1", "--rank", "7").startswith("rank 7\n")
    assert json.loads(terminal.shows("stacks", "job-1", "-o", "json")) == STACKS


def test_an_attempt_is_asked_for(terminal: Terminal, server: FakeServer) -> None:
    server.answers["GET /v1/jobs/job-1/stacks"] = STACKS
    terminal.shows("stacks", "job-1", "--attempt", "2")
    assert server.requests[-1].url.params["attempt"] == "2"


def test_a_card_says_which_ranks_are_slow_and_that_the_job_stands_still(terminal: Terminal, server: FakeServer) -> None:
    slow = {"node": "n3", "gpus": [], "slowdown": 2, "since": "2026-03-02T11:40:00Z", "steps": 24, "usual": None}
    server.jobs["job-1"] = a_running_job(
        progress={"step": 7, "step_s": None, "last_step_at": None},
        stragglers=[{"rank": rank, **slow} for rank in range(10)],
        hang={"since": "2026-03-02T11:50:00Z", "ranks": [0, 1, 2], "step": 7},
    )
    lines = [" ".join(line.split()) for line in terminal.shows("show", "job-1").splitlines()]
    assert "step 7" in lines
    assert sum(line.startswith("slow rank") for line in lines) == 8
    assert "and 2 more slow ranks" in lines
    assert any(line.startswith("hangs for") and "rank 0-2" in line for line in lines)
