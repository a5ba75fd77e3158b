"""What an agent sends of a node's log folder, and what the control plane makes of it."""

import random
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from muster.backends.agents.mirrored_files import FILE_MOST, NOT_NOW, MirroredFiles
from muster.model.ids import NodeName
from muster.worker.agent.mirror import PIECE_BYTES, REFUSED_S, UNANSWERED_MOST, Mirror

NODE = NodeName("gpu1")
LOG = "job-1/1/0/0000000000000000.log"


class Node:
    """A node and its control plane, with a clock that the test moves."""

    def __init__(self, folder: Path) -> None:
        self.now_s = 0.0
        self.logs = folder / "node"
        self.copy = folder / "home" / "logs"
        self.has_run = True
        self.mirror = Mirror(self.logs, clock=lambda: self.now_s)
        self.kept = MirroredFiles(folder / "home", lambda _node, _job: self.has_run)
        self.sent: list[dict[str, Any]] = []

    def write(self, name: str, data: bytes) -> None:
        (self.logs / name).parent.mkdir(parents=True, exist_ok=True)
        with (self.logs / name).open("ab") as file:
            file.write(data)

    def look(self) -> int:
        """Look once, and pass everything on; how much was said."""
        before = len(self.sent)
        self.mirror.look(self.sent.append)
        said = self.sent[before:]
        for message in said:
            answer: Any = self.kept.take(NODE, message)
            if answer is not None:
                self.mirror.answered(answer["kept"], answer["size"])
        return len(said)

    def settle(self) -> None:
        for _ in range(1_000):
            if not self.look():
                return
        raise AssertionError("it never ends")


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_output_is_copied_as_it_grows_and_the_mark_of_its_end_comes_last(node: Node) -> None:
    node.write(LOG, b"one\n")
    node.settle()
    assert (node.copy / LOG).read_bytes() == b"one\n"
    node.write(LOG, b"x" * (2 * PIECE_BYTES + 5))
    node.write("job-1/1/0/complete", b"")
    node.write("job-1/1/metrics.jsonl", b"{}\n")
    node.write("job-1/1/steps.jsonl", b"{}\n")
    while node.look():
        is_whole = (node.copy / LOG).stat().st_size == (node.logs / LOG).stat().st_size
        assert is_whole or not (node.copy / "job-1/1/0/complete").exists()
    assert (node.copy / LOG).read_bytes() == (node.logs / LOG).read_bytes()
    assert (node.copy / "job-1/1/0/complete").exists()
    assert (node.copy / "job-1/1/metrics.jsonl").read_bytes() == b"{}\n"
    assert (node.copy / "job-1/1/steps.jsonl").read_bytes() == b"{}\n"


def test_nothing_is_sent_again_after_a_new_connection(node: Node) -> None:
    node.write(LOG, b"x" * PIECE_BYTES)
    node.settle()
    node.mirror.begin()
    del node.sent[:]
    node.settle()
    assert [message["data"] for message in node.sent] == [""]


def test_a_file_that_was_replaced_by_a_shorter_one_is_copied_anew(node: Node) -> None:
    node.write("job-1/1/metrics.jsonl", b"old and long\n")
    node.settle()
    (node.logs / "job-1/1/new").write_bytes(b"new\n")
    (node.logs / "job-1/1/new").replace(node.logs / "job-1/1/metrics.jsonl")
    node.settle()
    assert (node.copy / "job-1/1/metrics.jsonl").read_bytes() == b"new\n"


def test_output_that_the_node_dropped_is_dropped_here_too_but_not_with_its_whole_folder(node: Node) -> None:
    node.write(LOG, b"one\n")
    node.write("job-1/1/0/0000000000000004.log", b"two\n")
    node.settle()
    (node.logs / LOG).unlink()
    node.settle()
    assert [path.name for path in sorted((node.copy / "job-1/1/0").iterdir())] == ["0000000000000004.log"]
    (node.logs / "job-1/1/0/0000000000000004.log").unlink()
    (node.logs / "job-1/1/0").rmdir()
    node.settle()
    assert (node.copy / "job-1/1/0/0000000000000004.log").exists()


def test_what_the_control_plane_does_not_know_yet_is_offered_again_later(node: Node) -> None:
    node.has_run = False
    node.write(LOG, b"one\n")
    node.settle()
    assert not (node.copy / LOG).exists()
    node.has_run = True
    assert node.look() == 0
    node.now_s += REFUSED_S
    node.settle()
    assert (node.copy / LOG).read_bytes() == b"one\n"


def test_few_pieces_are_on_their_way_at_once(node: Node) -> None:
    for rank in range(3 * UNANSWERED_MOST):
        node.write(f"job-1/1/{rank}/0000000000000000.log", b"x")
    node.mirror.look(node.sent.append)
    node.mirror.look(node.sent.append)
    assert len(node.sent) == UNANSWERED_MOST


@pytest.mark.parametrize(
    "name",
    [
        "../../token",
        "job-1/../../token",
        "/etc/passwd",
        "job-1/1/0/../../../../token",
        "job-1/1/0/evil.sh",
        "./1/0/complete",
        "../1/0/complete",
        "job-1/1/0/0000000000000000.log/x",
        "job-1/one/0/complete",
        "job-1/1/metrics.jsonl\n",
        7,
        None,
    ],
)
def test_no_name_leads_elsewhere(tmp_path: Path, name: object) -> None:
    kept = MirroredFiles(tmp_path / "home", lambda _node, _job: True)
    assert kept.take(NODE, {"file": name, "at": 0, "data": ""}) is None
    assert not (tmp_path / "home").exists()


def test_an_agent_cannot_write_files_of_jobs_that_its_node_never_ran(tmp_path: Path) -> None:
    kept = MirroredFiles(tmp_path, lambda node, job: (node, job) == (NODE, "job-1"))
    piece = b64encode(b"x").decode()
    assert kept.take(NODE, {"file": LOG, "at": 0, "data": piece}) == {"kept": LOG, "size": 1}
    other = LOG.replace("job-1", "job-2")
    assert kept.take(NODE, {"file": other, "at": 0, "data": piece}) == {"kept": other, "size": NOT_NOW}
    assert kept.take(NodeName("gpu2"), {"file": LOG, "gone": True}) is None
    assert (tmp_path / "logs" / LOG).exists()


def test_a_piece_that_does_not_follow_a_link_or_too_much_is_not_written(tmp_path: Path) -> None:
    kept = MirroredFiles(tmp_path, lambda _node, _job: True)

    def take(at: int, data: str) -> Any:
        return kept.take(NODE, {"file": LOG, "at": at, "data": data})

    assert take(5, b64encode(b"late").decode())["size"] == 0
    assert take(0, "not base64!")["size"] == NOT_NOW
    assert take(0, b64encode(bytes(FILE_MOST + 1)).decode())["size"] == 0
    path = tmp_path / "logs" / LOG
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    assert take(0, b64encode(b"x").decode())["size"] == NOT_NOW
    assert not (tmp_path / "elsewhere").exists()


def test_a_copy_is_whole_in_the_end_whatever_is_lost_on_the_way(tmp_path: Path) -> None:
    for seed in range(30):
        chance, node = random.Random(seed), Node(tmp_path / str(seed))
        for _ in range(30):
            node.write(chance.choice((LOG, "job-1/1/1/0000000000000000.log")), chance.randbytes(chance.randrange(300)))
            node.now_s += chance.uniform(0, 20)
            node.mirror.look(node.sent.append)
            for message in [node.sent.pop() for _ in range(len(node.sent))]:
                if chance.random() < 0.3:
                    continue  # the connection broke before it came
                answer: Any = node.kept.take(NODE, message)
                if answer is not None and chance.random() < 0.7:
                    node.mirror.answered(answer["kept"], answer["size"])
            if chance.random() < 0.2:
                node.mirror.begin()
        node.mirror.begin()
        node.settle()
        for path in node.logs.rglob("*.log"):
            assert (node.copy / path.relative_to(node.logs)).read_bytes() == path.read_bytes()


def test_what_is_missing_is_counted_and_told(node: Node, tmp_path: Path) -> None:
    node.write(LOG, b"one\n")
    node.settle()
    assert node.mirror.behind == 0
    node.has_run = False
    node.write(LOG, b"two\n")
    node.write(LOG.replace("/0/", "/1/"), b"three\n")
    node.look()
    assert node.mirror.behind == 4 + 6 + 4  # of a file that was refused, nothing is known to be there
    told: list[tuple[NodeName, int]] = []
    kept = MirroredFiles(tmp_path, lambda _node, _job: True, lambda node, behind: told.append((node, behind)))
    assert kept.take(NODE, {"behind": 14}) == {"behind": 14}
    assert told == [(NODE, 14)]
