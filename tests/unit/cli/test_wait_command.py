from tests.unit.cli.conftest import Terminal
from tests.unit.client.fake_server import FakeServer, a_running_job, ends_as


def test_one_failure_counts_more_than_one_cancellation(terminal: Terminal, day: FakeServer) -> None:
    assert terminal.type("wait", "job-9", "-q").exit_code == 0
    assert terminal.type("wait", "job-9", "job-6").exit_code == 6
    assert terminal.type("wait", "job-6", "job-8", "job-9").exit_code == 1


def test_time_is_up(terminal: Terminal, day: FakeServer) -> None:
    result = terminal.type("wait", "job-9", "job-15", "--timeout", "0s")
    assert result.exit_code == 6
    assert "time is up, and 1 job did not end: job-15" in result.stderr


def test_jobs_are_waited_for_until_all_have_ended(terminal: Terminal, server: FakeServer) -> None:
    server.jobs["job-1"] = a_running_job()
    server.later = [lambda _: None, lambda _: None, ends_as("succeeded")]
    assert terminal.type("wait", "job-1", "-q").stdout == "job-1\n"
