"""The keeper of a node of Ray, with real processes and without Ray: its records, devices and ends."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from muster.backends.ray.on_ray import keeper as module
from muster.backends.ray.on_ray.keeper import AllocationKeeper

RUN = """
mkdir "$MUSTER_ALLOCATION_HOME/begun" || exit 1
echo "$CUDA_VISIBLE_DEVICES" > "$MUSTER_ALLOCATION_HOME/devices"
touch FOLDER/$ALLOCATION_OF_MUSTER
until [ -e FOLDER/end ]; do sleep 0.02; done
: > "$MUSTER_ALLOCATION_DONE"
"""


class Node:
    """A node with keepers, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.keeper = AllocationKeeper("m1-n0", ["4", "5", "6"])

    def another_keeper(self, *devices: str) -> None:
        """The actor has died, and another one is there."""
        os.close(self.keeper._lock)
        self.keeper = AllocationKeeper("m1-n0", list(devices or ("4", "5", "6")))

    def begin(self, allocation: str = "a1", gpus: int = 2, run: str = RUN, limit_s: float | None = None) -> str:
        files = {"run.sh": run.replace("FOLDER", str(self.folder)), "token": "secret"}
        order = {"id": allocation, "node": "n0", "nodes": ["n0"], "gpus": gpus, "limit_s": limit_s, "files": files}
        return self.keeper.begin(order, b"PK")

    def said(self, allocation: str = "a1") -> dict[str, Any]:
        return next(dict(each) for each in self.keeper.look()["entries"] if each["id"] == allocation)

    def await_phase(self, phase: str, allocation: str = "a1") -> dict[str, Any]:
        eventually(lambda: self.said(allocation)["phase"] == phase)
        return self.said(allocation)

    def home(self, allocation: str = "a1") -> Path:
        return Path(self.keeper._entries[allocation].home)


def eventually(look: Callable[[], bool]) -> None:
    give_up_s = time.monotonic() + 20
    while not look():
        assert time.monotonic() < give_up_s, "in vain"
        time.sleep(0.01)


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "tmp"))
    made = Node(tmp_path)
    try:
        yield made
    finally:
        (tmp_path / "end").touch()
        for entry in made.keeper._entries.values():
            for process in module._processes_of(entry.id):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        os.close(made.keeper._lock)


def test_an_allocation_gets_devices_that_are_free_and_ends_in_order(node: Node) -> None:
    assert node.begin() == ""
    assert node.said()["phase"] == "running"
    eventually((node.home() / "devices").exists)
    eventually(lambda: (node.home() / "devices").read_text() == "4,5\n")
    assert (node.home() / "token").stat().st_mode & 0o777 == 0o600
    (node.folder / "end").touch()
    assert node.await_phase("ended")["is_orderly"]
    assert not node.home().exists()
    assert node.keeper.is_idle


def test_one_that_finds_too_few_devices_waits_for_them_and_so_do_those_behind_it(node: Node) -> None:
    node.begin("a1")
    node.begin("a2")
    node.begin("a3", gpus=1)
    assert [node.said(each)["phase"] for each in ("a1", "a2", "a3")] == ["running", "waiting", "waiting"]
    node.keeper.end("a1")
    node.await_phase("running", "a2")
    assert set(node.said("a2")["devices"]).isdisjoint(node.said("a3")["devices"])
    assert node.said("a3")["phase"] == "running"


def test_what_is_asked_for_twice_runs_once(node: Node) -> None:
    node.begin()
    first = node.keeper._entries["a1"].process
    assert node.begin() == ""
    assert node.keeper._entries["a1"].process == first
    node.keeper.end("a1")
    node.await_phase("ended")
    node.begin()
    assert node.said()["phase"] == "ended"


def test_a_keeper_goes_on_where_the_last_one_was(node: Node) -> None:
    node.begin()
    node.another_keeper()
    assert (node.said()["phase"], node.said()["devices"]) == ("running", ["4", "5"])
    node.begin("a2", gpus=1)
    assert node.said("a2")["devices"] == ["6"]
    (node.folder / "end").touch()
    assert node.await_phase("ended")["is_orderly"]


def test_devices_that_ray_has_given_to_others_meanwhile_are_not_given_out(node: Node) -> None:
    node.begin()
    node.another_keeper("5", "6")
    node.begin("a2", gpus=1)
    assert node.said("a2")["devices"] == ["6"]
    node.begin("a3", gpus=1)
    assert node.said("a3")["phase"] == "waiting"


def test_a_keeper_that_died_before_it_noted_the_process_finds_what_it_started(node: Node) -> None:
    node.begin()
    eventually((node.folder / "a1").exists)
    node.keeper._entries["a1"].process = 0
    node.keeper._note(node.keeper._entries["a1"], "running")
    node.another_keeper()
    assert node.said()["phase"] == "running"
    node.keeper.end("a1")
    node.await_phase("ending")
    (node.folder / "end").touch()
    node.await_phase("ended")


def test_a_keeper_that_died_before_it_started_anything_starts_nothing_later(node: Node) -> None:
    node.begin()
    node.keeper.end("a1")
    node.await_phase("ended")
    entry = node.keeper._entries["a1"]
    entry.process, entry.start_ticks = 0, 0
    Path(entry.home).mkdir()
    node.keeper._note(entry, "running")
    node.another_keeper()
    assert not node.said()["is_orderly"]
    assert node.said()["phase"] == "ended"


def test_what_does_not_end_by_itself_is_killed_with_all_that_it_has_started(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "END_S", 0.1)
    node.begin(run="mkdir $MUSTER_ALLOCATION_HOME/begun; setsid sleep 1000 & setsid sleep 1000 & wait")
    eventually(lambda: len(module._processes_of("a1")) == 3)
    node.keeper.end("a1")
    assert not node.await_phase("ended")["is_orderly"]
    assert module._processes_of("a1") == []


def test_what_is_overdue_is_ended(node: Node) -> None:
    node.begin(limit_s=0.1)
    assert node.await_phase("ended")["is_overdue"]


def test_what_was_not_started_yet_is_just_forgotten(node: Node) -> None:
    node.begin(gpus=4)
    node.keeper.end("a1")
    assert node.said()["phase"] == "ended"
    node.keeper.end("a2")  # which nobody knows


def test_what_ended_long_ago_is_forgotten(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    node.begin(gpus=4)
    node.keeper.end("a1")
    monkeypatch.setattr(module, "KEPT_S", -1.0)
    assert node.keeper.look()["entries"] == []
    node.another_keeper()
    assert node.keeper.look()["entries"] == []


def test_there_is_one_keeper_at_a_time(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOCK_S", 0.1)
    with pytest.raises(BlockingIOError):
        AllocationKeeper("m1-n0", [])


def test_a_folder_of_somebody_else_is_not_taken(node: Node) -> None:
    (node.folder / "tmp" / f"muster-{os.geteuid()}-m1-n1-kept").symlink_to(node.folder)
    with pytest.raises(OSError, match="belongs to somebody else: remove it"):
        AllocationKeeper("m1-n1", [])


def test_a_record_that_cannot_be_read_is_left_out(node: Node) -> None:
    node.begin()
    folder = node.keeper._folder
    (folder / "a2.json").write_text("{")
    (folder / "a3.json").write_text(json.dumps({"id": "a3"}))
    node.another_keeper()
    assert [each["id"] for each in node.keeper.look()["entries"]] == ["a1"]


def test_what_cannot_be_written_down_is_refused_and_not_started(node: Node) -> None:
    (node.folder / "tmp" / f"muster-{os.geteuid()}-a1-n0").write_text("in the way")
    assert "cannot be written down" in node.begin()
    assert node.keeper.look()["entries"] == []


def test_too_many_that_wait_are_refused(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAITING_MOST", 1)
    assert node.begin("a1", gpus=4) == ""
    assert "1 allocations wait on this node already" in node.begin("a2", gpus=4)


def test_a_keeper_that_keeps_nothing_gives_its_devices_back_when_nobody_asks(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.begin()
    node.keeper.end("a1")
    node.await_phase("ended")
    assert not node.keeper.is_left
    monkeypatch.setattr(module, "AWAY_S", -1.0)
    assert node.keeper.is_left


def test_a_keeper_that_keeps_something_stays(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AWAY_S", -1.0)
    node.begin()
    assert not node.keeper.is_left


def test_nothing_of_rays_own_reaches_what_is_started(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getppid", lambda: 0)  # its environment cannot be read
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    monkeypatch.setenv("SITE", "here")
    variables = module._variables_of_the_node()
    assert "RAY_ADDRESS" not in variables
    assert variables["SITE"] == "here"
