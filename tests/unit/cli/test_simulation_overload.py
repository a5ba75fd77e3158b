"""What `muster simulate` prints about lasting overload."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from muster.cli.main import app

runner = CliRunner()


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """For four days a job of ten hours comes every six hours."""
    path = tmp_path / "heavy.csv"
    rows = (f"j{hour},{hour * 3600},36000,8" for hour in range(0, 96, 6))
    path.write_text("\n".join(("job_id,submit_s,duration_s,gpus", *rows)), "utf-8")
    return str(path)


def printed(trace: str, *arguments: str) -> list[str]:
    result = runner.invoke(app, ["simulate", "--trace", trace, *arguments], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    return result.stdout.splitlines()


def test_lasting_overload_is_said_below_the_table(trace: str) -> None:
    lines = printed(trace, "--cluster", "1x8", "--policy", "fifo,easy")
    place = lines.index("Lasting overload")
    assert lines[place + 1].startswith("  Load on the cluster: 1.78 over the whole trace, and 1.68 from day 0.2 to day")
    subjects = [line.split(":")[0].strip() for line in lines[place + 1 :] if not line.startswith("    ")]
    assert subjects == [
        "Load on the cluster",
        "From when to when",
        "Who waits under fifo",
        "Who waits under easy",
        "What would fix it",
    ]
    assert all(line == line.rstrip() for line in lines[place:])


def test_a_variation_says_the_load_at_each_value_that_is_overloaded(trace: str) -> None:
    lines = printed(trace, "--cluster", "1x8", "--policy", "fifo,easy", "--vary", "nodes=1..2:1")
    place = lines.index("Lasting overload")
    (line,) = lines[place + 1 :]
    assert line.startswith("  nodes 1: 1.78 over the whole trace")


def test_nothing_is_said_where_there_is_room(trace: str) -> None:
    assert "Lasting overload" not in printed(trace, "--cluster", "2x8", "--policy", "fifo")
