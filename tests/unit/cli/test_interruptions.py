import os
import signal
from collections.abc import Iterator

import pytest

from muster.cli.terminal.interruptions import Interruptions
from tests.unit.cli.conftest import Terminal
from tests.unit.client.fake_server import FakeServer


@pytest.fixture(autouse=True)
def foreground() -> Iterator[None]:
    """Signals as a shell has them for what it runs in the foreground, however the tests were started."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGTERM, signal.SIGHUP)}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, action in before.items():
        signal.signal(number, action)


def sends(*numbers: signal.Signals) -> None:
    for number in numbers:
        os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_whatever_ends_a_command_is_an_interruption(number: signal.Signals) -> None:
    with Interruptions(), pytest.raises(KeyboardInterrupt):
        sends(number)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_what_the_shell_has_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Interruptions():
        sends(signal.SIGHUP, signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            sends(signal.SIGTERM)


def test_the_first_signal_is_kept_and_the_second_is_not() -> None:
    told: list[str] = []
    with Interruptions(lambda: told.append("kept")) as interruptions:
        with interruptions.kept():
            sends(signal.SIGINT)
            assert told == ["kept"]
            with pytest.raises(KeyboardInterrupt):
                sends(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            interruptions.raise_kept()
        interruptions.raise_kept()


def test_a_job_whose_user_leaves_while_it_is_being_sent_is_cancelled(terminal: Terminal, server: FakeServer) -> None:
    server.lost_answers = 1
    server.on_request = lambda: sends(signal.SIGINT)
    result = terminal.type("run", "--", "sleep", "9")
    assert (result.exit_code, server.jobs["job-1"]["state"]) == (6, "cancelled")
    assert "as soon as the server has answered" in result.stderr


def test_a_user_who_cannot_wait_for_the_answer_is_told_to_look(terminal: Terminal, server: FakeServer) -> None:
    server.on_request = lambda: sends(signal.SIGINT, signal.SIGINT)
    result = terminal.type("run", "--", "sleep", "9")
    assert (result.exit_code, "`muster ps`" in result.stderr) == (6, True)
