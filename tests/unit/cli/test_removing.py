"""Commands that take something away say so to people in a sentence, and to programs in JSON."""

import json
from typing import Any

import pytest

from tests.unit.cli.conftest import Terminal
from tests.unit.client.fake_server import FakeServer


@pytest.mark.parametrize(
    ("request_line", "words", "sentence", "value"),
    [
        ("POST /v1/reservations/r1/remove", ("reservation", "rm", "r1"), "r1 is gone", {"removed": "r1"}),
        (
            "DELETE /v1/jobs/job-1/checkpoints/20",
            ("checkpoints", "rm", "job-1", "20"),
            "step 20 of job-1 is removed",
            {"job": "job-1", "removed": 20},
        ),
        (
            "POST /v1/quarantine/job-1/adopt",
            ("quarantine", "adopt", "job-1"),
            "job-1 goes on",
            {"adopted": ["job-1"]},
        ),
        (
            "POST /v1/quarantine/job-1/kill",
            ("quarantine", "kill", "job-1"),
            "job-1 is being ended; its GPUs are free once its nodes say so",
            {"ending": ["job-1"]},
        ),
    ],
)
def test_what_is_taken_away_is_said(
    terminal: Terminal, server: FakeServer, request_line: str, words: tuple[str, ...], sentence: str, value: Any
) -> None:
    server.answers[request_line] = {}
    assert terminal.shows(*words).strip() == sentence
    assert json.loads(terminal.shows(*words, "-o", "json")) == value
