"""A real browser without a network, and a report for it to open."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright
from typer.testing import CliRunner

from muster.cli.main import app

POLICIES = ("fifo", "easy", "muster")
TEAMS = ("vision", "language/pretraining-of-large-models", "speech-and-audio-research", "x")
CLUSTER = """
cluster: {nodes: [{name: "n[1-4]", gpus: 8, gpu_type: h100}]}
teams: {vision: {weight: 2}, language: {teams: {pretraining-of-large-models: {}}}, speech-and-audio-research: {}, x: {}}
"""
JOBS = 90


def trace_text() -> str:
    """Jobs of all sizes with names as people give them: some wait, some overtake, some are told to leave."""
    rows = (
        f"{TEAMS[place % 4]}-nightly-training-{place},{place * 240},{300 + place * 7919 % 9000},"
        f"{(1, 2, 8, 16)[place * 7 % 4]},{TEAMS[place % 4]},{('production', 'standard')[place % 5 > 0]}"
        for place in range(JOBS)
    )
    return "\n".join(["job_id,submit_s,duration_s,gpus,team,tier", *rows])


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `muster simulate` writes about three policies on three sizes of a cluster."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "nightly.csv").write_text(trace_text(), "utf-8")
    (folder / "cluster.yaml").write_text(CLUSTER, "utf-8")
    words = ["simulate", "--trace", str(folder / "nightly.csv"), "--cluster", str(folder / "cluster.yaml")]
    words += ["--policy", ",".join(POLICIES), "--vary", "nodes=3..5:1", "--faults", "mtbf=2d,repair=1h"]
    made = CliRunner().invoke(app, [*words, "--html", str(folder / "report.html")])
    assert made.exit_code == 0, made.output
    return folder / "report.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The browser of the distribution. Not for the whole session: while it runs, its thread has an event loop."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.fail("there is no browser to open the report with: make services, or apt install chromium")
    # As root it cannot make the sandbox; what it opens here was written a moment ago.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=[*arguments, "--disable-dev-shm-usage"])
        yield started
        started.close()
