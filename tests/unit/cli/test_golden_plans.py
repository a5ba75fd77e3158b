"""What is decided in every example scenario, as people read it: a change to a decision is a diff of a file in `plans`.

`make golden` writes them anew. Look at the diff: it is what the change does to jobs that wait and to jobs that run.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Terminal

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
PLANS = Path(__file__).with_name("plans")
COLUMNS = 110


def scenarios() -> Iterator[tuple[str, str]]:
    """Every situation that the repository shows as an example, by name."""
    for path in sorted(EXAMPLES.rglob("*.yaml")):
        text = path.read_text("utf-8")
        if re.search(r"^waiting:", text, re.MULTILINE):
            yield path.stem, text
    readme = (ROOT / "README.md").read_text("utf-8")
    shown = re.search(r"```yaml\n(# scenario\.yaml\n.*?)```", readme, re.DOTALL)
    assert shown is not None, "the README shows no scenario any more"
    yield "readme", shown[1]


def planned(terminal: Terminal, text: str) -> str:
    """What `muster plan --explain` says of it."""
    terminal.columns = COLUMNS
    lines = terminal.type("plan", "-", "--explain", input=text).stdout.splitlines()
    return "\n".join([line.rstrip() for line in lines]) + "\n"


def test_every_example_is_decided_as_it_was(terminal: Terminal, update_screens: bool) -> None:
    different = []
    for name, text in scenarios():
        shown, path = planned(terminal, text), PLANS / f"{name}.txt"
        if update_screens:
            path.write_text(shown, "utf-8")
        elif shown != path.read_text("utf-8"):
            different.append(name)
    assert different == [], "`make golden` writes them anew, and the diff shows what a change does to decisions"


def test_there_is_a_plan_for_every_example_and_for_nothing_else() -> None:
    assert {path.stem for path in PLANS.iterdir()} == {name for name, _ in scenarios()}


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("backfill", "gpus: 2}, max_duration: 4h", "gpus: 2}, max_duration: 5h"),
        ("preemption", "preempts: true", "preempts: false"),
        ("reclaim", "nlp: {guaranteed: {h100: 8}}", "nlp: {guaranteed: {h100: 0}}"),
        ("topology", "relax_after: 1h", "relax_after: 10m"),
        ("elastic", "2..6", "5..6"),
        ("fair-share", "light: 100000", "light: 9000000"),
        ("demo", "min_runtime: 10m", "min_runtime: 12h"),
    ],
)
def test_what_an_example_teaches_shows_in_its_plan(terminal: Terminal, name: str, before: str, after: str) -> None:
    text = dict(scenarios())[name]
    assert before in text
    assert planned(terminal, text.replace(before, after)) != planned(terminal, text)
