"""Which commands go to nodes, which are answered at once, and which wait."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.backends.local.backend import LocalBackend
from muster.backends.local.link import Link
from muster.model.events import StartFailed
from muster.model.ids import JobId, NodeName
from muster.model.instructions import KillWorkers
from muster.worker.service import Message
from tests.local.machine import a_node

JOB = JobId("job-1")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Message]]:
    """What was sent to each node; no supervisor is started or talked to."""
    sent: dict[str, list[Message]] = {}
    monkeypatch.setattr(Link, "open", lambda _: None)
    monkeypatch.setattr(Link, "command", lambda link, message: sent.setdefault(link.node.name, []).append(message))
    return sent


@pytest.fixture
def backend(tmp_path: Path, sent: dict[str, list[Message]]) -> Iterator[LocalBackend]:
    backend = LocalBackend(tmp_path, [a_node("n1"), a_node("n2")])
    for link in backend._links.values():
        link.has_greeted = True
    yield backend
    backend.close()


def test_only_nodes_say_of_an_older_attempt_that_it_has_no_workers(
    backend: LocalBackend, sent: dict[str, list[Message]]
) -> None:
    backend._directory.learn(NodeName("n1"), JOB, 2, 5, 0, [0])
    backend._directory.learn_doomed(NodeName("n2"), JOB, 1, 1)
    backend._dispatching.dispatch(KillWorkers(job=JOB, attempt=1, generation=6, ranks=(0, 1)))
    assert {node: [each["command"]["ranks"] for each in messages] for node, messages in sent.items()} == {"n2": [[1]]}
    (denied,) = backend.poll()
    assert isinstance(denied, StartFailed)
    assert (denied.ranks, denied.message) == ((0,), "a newer attempt was heard of")
