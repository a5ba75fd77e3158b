"""What people see, at 80 and at 120 columns: each file in `screens` is a command and everything that it prints.

After a change that is meant: `pytest tests/unit/cli --update-screens` writes them anew, and the diff shows the change.
"""

from pathlib import Path

import pytest

from tests.unit.cli.cluster import fill
from tests.unit.cli.conftest import Terminal
from tests.unit.client.fake_server import FakeServer

SCREENS = Path(__file__).with_name("screens")
NARROW = 80


def test_every_screen_is_as_it_was(terminal: Terminal, server: FakeServer, update_screens: bool) -> None:
    for path in sorted(SCREENS.glob("*.txt")):
        fill(server)
        command, _, expected = path.read_text("utf-8").partition("\n")
        terminal.columns = int(path.stem.rpartition("-")[2])
        shown = terminal.shows(*command.removeprefix("$ muster ").split())
        if update_screens:
            path.write_text(f"{command}\n{shown}", "utf-8")
        else:
            assert shown == expected, path.name


def test_colours_are_for_terminals(terminal: Terminal, server: FakeServer) -> None:
    fill(server)
    assert "\x1b[32m" in terminal.shows("ps", FORCE_COLOR="1")
    assert "\x1b[" not in terminal.shows("ps")
    assert "\x1b[3" not in terminal.shows("ps", FORCE_COLOR="1", NO_COLOR="1")


def test_what_is_piped_is_never_cut(terminal: Terminal, server: FakeServer) -> None:
    fill(server)
    text = terminal.shows("ps", "-a", piped=True)
    assert "a-long-name-that-somebody-made-up" in text
    assert "after job-12, job-13 (finished)" in text
    assert "…" not in text


@pytest.mark.parametrize("command", ["ps", "nodes", "teams", "top --once", "show job-12"])
def test_a_window_may_be_very_narrow(terminal: Terminal, server: FakeServer, command: str) -> None:
    fill(server)
    assert terminal.type(*command.split(), COLUMNS="30").exit_code == 0
