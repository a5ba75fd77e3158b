"""What the report of `muster simulate` says about how it came about."""

import re
import shlex
from html import unescape
from pathlib import Path

import pytest
from typer.testing import CliRunner

from muster import __version__
from muster.cli.main import app
from tests.unit.sim.report.reading import Page, read_page

TRACE = "job_id,submit_s,duration_s,gpus,team\na,0,100,6,x\nb,10,50,4,y\nc,20,5,2,x\n"
CLUSTER = """
cluster:
  levels: [rack]
  nodes: [{name: "n[1-2]", gpus: 8, gpu_type: h100, rack: r1}, {name: "n[3-4]", gpus: 4, gpu_type: a100, rack: r2}]
teams: {x: {weight: 2}, y: {}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("my trace.csv").write_text(TRACE, "utf-8")
    Path("cluster.yaml").write_text(CLUSTER, "utf-8")
    return tmp_path


def reported(folder: Path, *arguments: str) -> Page:
    words = ["simulate", "--trace", "my trace.csv", "--policy", "fifo,las", "--html", "r.html", *arguments]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.stderr
    return read_page(folder / "r.html")


def test_everything_that_decides_the_figures_is_said(folder: Path) -> None:
    text = reported(
        folder,
        *("--cluster", "cluster.yaml", "--first", "2", "--arrivals", "2", "--restart-cost", "30s", "--seed", "7"),
        *("--checkpoint-every", "10m", "--checkpoint-cost", "5s", "--faults", "crash=0.5", "--type-blind"),
    ).text
    for said in (
        "my trace.csv, the first 2 jobs",
        "2 times as fast as in the trace",
        "cluster.yaml: 2 nodes with 8 h100 GPUs and 2 nodes with 4 a100 GPUs in 2 racks",
        "in the order of submission, nobody overtakes",
        "every 10 min, training stands still for 5 s",
        "crash=0.5",
        "weights: x 2 and y 1",
        "kept from the scheduler (--type-blind)",
        "as in the trace",
        __version__,
    ):
        assert said in text
    assert len(re.findall(r"\b[0-9a-f]{64}\b", text)) == 2


def test_the_command_that_is_shown_gives_the_same_report(folder: Path) -> None:
    reported(folder, "--cluster", "2x8", "--restart-cost", "30s", "--synthesise")
    before = (folder / "r.html").read_bytes()
    (marked,) = re.findall("<pre>(.*?)</pre>", before.decode())
    shown = unescape(re.sub("<.*?>", "", marked))
    assert shown.startswith("muster simulate --trace 'my trace.csv' --policy fifo,las --cluster 2x8 ")
    assert str(folder) not in shown
    (folder / "r.html").unlink()
    assert CliRunner().invoke(app, shlex.split(shown)[1:]).exit_code == 0
    assert (folder / "r.html").read_bytes() == before


def test_what_was_made_up_is_said_where_it_is_shown(folder: Path) -> None:
    said = "were made up where the trace has none (--synthesise)"
    assert said not in reported(folder, "--cluster", "2x8").text
    assert reported(folder, "--cluster", "2x8", "--synthesise").text.count(said) == 2


@pytest.mark.parametrize(
    ("vary", "chosen"),
    [
        ("nodes=1..5:2", "3 nodes, as it is without varying it"),
        ("arrivals=2..4:2", "2× arrivals, of what was tried the nearest to 1× arrivals"),
        ("restart_cost=0s..1m:1m", "restart cost 0 s, of what was tried the nearest to restart cost 9 s"),
    ],
)
def test_what_is_varied_has_curves_around_what_is(folder: Path, vary: str, chosen: str) -> None:
    page = reported(folder, "--cluster", "3x8", "--restart-cost", "9s", "--vary", vary)
    assert chosen in page.text
    assert "sweep-completion" in page.charts


def test_varied_arrivals_are_those_of_the_trace_whatever_else_was_asked_for(folder: Path) -> None:
    page = reported(folder, "--cluster", "3x8", "--arrivals", "2", "--vary", "arrivals=1..3:1")
    assert "2× arrivals, as it is without varying it" in page.text
    swept = page.charts["sweep-completion"]
    assert swept["data"][0]["x"] == [1, 2, 3]
    assert swept["layout"]["shapes"][0]["x0"] == 2
    once = reported(folder, "--cluster", "3x8", "--arrivals", "1", "--vary", "arrivals=1..3:1")
    assert swept["data"] == once.charts["sweep-completion"]["data"]


def test_a_single_value_needs_no_curve(folder: Path) -> None:
    page = reported(folder, "--cluster", "3x8", "--vary", "nodes=2")
    assert "sweep-completion" not in page.charts
    assert "16 GPUs" in page.text
