"""The guide to admission rules does what it says: its commands are run in the order in which they stand there."""

import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from muster.api.admission.__main__ import called
from muster.api.admission.messages import PluginAnswer, PluginQuestion
from muster.formats.rules.server_file import read_server_file
from tests.e2e.conftest import MUSTER, Shell

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guides" / "admission.md").read_text("utf-8")
NOT_HERE = ("pip ",)
"""What needs a package index."""
DEADLINE_S = 240.0


def blocks(kind: str) -> list[str]:
    """The blocks of the guide in this language."""
    return re.findall(rf"^```{kind}\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)


def commands() -> str:
    """All commands of the guide, as one script. `muster` is that of this tree."""
    lines = [line for block in blocks("sh") for line in block.splitlines() if not line.startswith(NOT_HERE)]
    return "\n".join(["set -e -o pipefail", f'muster() {{ {" ".join(map(repr, MUSTER))} "$@"; }}', *lines])


def test_every_command_of_the_guide_works_as_written(tmp_path: Path) -> None:
    (tmp_path / "muster.toml").write_text(blocks("toml")[0].replace("8470", "0"), "utf-8")
    shell = Shell(home=tmp_path / "home", folder=tmp_path)
    try:
        done = subprocess.run(
            ["bash", "-c", commands()],
            env=shell.environment,
            cwd=tmp_path,
            text=True,
            capture_output=True,
            timeout=DEADLINE_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    finally:
        shell.run("down", "--jobs", "--home", str(shell.home))
    assert "the admission rule 'images come from us' refuses the job: use an image of registry.example" in done.stderr
    assert blocks("text")[0].strip() in done.stderr
    assert "needs the tags project" in " ".join(done.stdout.split())  # lines are folded
    assert "would be" in done.stdout
    assert "denied" in done.stdout
    assert "tried on 1 job" in done.stderr
    assert '"profile": "small"' in done.stdout


def test_the_plug_in_of_the_guide_is_one_and_its_rule_is_sound(tmp_path: Path) -> None:
    found: dict[str, Any] = {}
    exec(blocks("python")[0], found)
    asked = PluginQuestion(view={"tags": {}}, user="ada", team="nlp", now_ms=0)
    assert called(found["cost_centre"], asked).deny == "ada, write tags: {cost_centre: …}"
    known = PluginQuestion(view={"tags": {"cost_centre": "4711"}}, user="ada", team="nlp", now_ms=0)
    assert called(found["cost_centre"], known) == PluginAnswer()
    assert found["cost_centre"]({"tags": {"cost_centre": "4711"}}, "ada", "nlp", datetime.now(UTC)) is None
    file = tmp_path / "muster.toml"
    file.write_text(blocks("toml")[1])
    rules = read_server_file(file).rules
    assert rules is not None
    assert (rules.admission[0].plugin, rules.admission[0].time_limit_ms) == ("cost_centre", 500)
