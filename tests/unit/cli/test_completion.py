import httpx

from muster.cli.terminal.completion import complete_job, complete_node
from tests.unit.cli.conftest import Terminal
from tests.unit.client.fake_server import FakeServer


def test_jobs_and_nodes_are_offered(terminal: Terminal, day: FakeServer) -> None:
    assert complete_job("job-12") == [("job-12", "llama-pretrain, running")]
    assert [name for name, _ in complete_node("n1")] == ["n1", "n10"]


def test_a_completion_never_complains(terminal: Terminal, server: FakeServer) -> None:
    server.failures = [httpx.ConnectError("refused")]
    assert complete_job("") == []
    assert len(server.requests) == 1
