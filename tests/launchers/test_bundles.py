"""Workers whose working directory was submitted with their job: each attempt on a node has a copy to itself."""

import os
import signal
from contextlib import closing
from pathlib import Path

import pytest

from muster.backends.base import Beside
from muster.home import Home
from muster.model.events import WorkersExited
from muster.model.ids import JobId, NodeName
from muster.model.records import evolve
from muster.model.spec import Bundle, JobSpec
from muster.worker.bundles.manifest import BLOCK_BYTES, BYTES_MOST, BundleEntry, BundleManifest, digest
from muster.worker.bundles.store import BundleStore, team_store
from muster.worker.launch.runtime_folder import scratch_folder
from muster.worker.launch.setup_records import setup_key
from muster.worker.launch.working_copies import NoRoomForCopy, claim_copy, copies_root, unpack_line
from muster.worker.records.journal import JOURNAL, Journal
from muster.worker.records.orphan_cleanup import sweep
from tests.launchers.gangs import a_gang, begin, codes, output, prints, wait_until
from tests.local.machine import Machine, a_spec


def stored(store: BundleStore, **files: str) -> Bundle:
    for text in files.values():
        store.put_block(text.encode())
    entries = tuple(
        BundleEntry(path=name, mode=0o755, size=len(text), blocks=(digest(text.encode()),))
        for name, text in sorted(files.items())
    )
    manifest = BundleManifest(entries=entries)
    store.put_manifest(manifest)
    return Bundle(id=manifest.id, files=len(files))


def a_copied(machine: Machine, run: str, *, setup: str = "", **files: str) -> JobSpec:
    """A job that was submitted with these files."""
    spec = a_spec(run, setup=setup)
    bundle = stored(team_store(Home(machine.home).bundles, spec.team), **(files or {"main": "echo as submitted"}))
    return evolve(spec, workdir=".", bundle=bundle)


def copies(machine: Machine) -> list[str]:
    """What is in the folders for working copies."""
    root = copies_root(scratch_folder(machine.home, os.environ))
    return sorted(str(each.relative_to(root)) for each in root.glob("*/*"))


def all_gone(machine: Machine) -> None:
    wait_until(lambda: copies(machine) == [], lambda: f"working copies are left: {copies(machine)}")


def test_workers_of_a_node_share_a_copy_that_goes_with_the_attempt(machine: Machine) -> None:
    run = "sh ./main; touch rank-$MUSTER_RANK; until [ -e rank-0 ] && [ -e rank-1 ]; do sleep 0.02; done; pwd"
    begin(machine, a_copied(machine, f"[ $MUSTER_NODE = n2 ] && exec ./main; {run}"), a_gang("n1", "n1", "n2"))
    assert codes(machine, 3) == {0: 0, 1: 0, 2: 0}
    first, second = output(machine, 0), output(machine, 1)
    assert first == second
    assert first.startswith("as submitted\n/")
    assert Path(first.split()[-1]).name == "job-1-1"
    all_gone(machine)


def test_what_an_attempt_writes_is_not_there_in_the_next(machine: Machine) -> None:
    spec = a_copied(machine, "sh ./main; ls; echo echo changed >main; touch new; sh ./main")
    for attempt in (1, 2):
        begin(machine, spec, a_gang("n1"), attempt=attempt, generation=attempt)
        assert prints(machine, "changed", attempt=attempt) == "as submitted\nmain\nchanged\n"
        all_gone(machine)


def test_setup_runs_in_the_copy_and_again_for_a_new_copy_if_it_left_something_there(
    machine: Machine, tmp_path: Path
) -> None:
    spec = a_copied(machine, "cat made; echo run", setup=f"echo x >>{tmp_path}/ran; echo made >made")
    for attempt in (1, 2):
        begin(machine, spec, a_gang("n1", "n1"), attempt=attempt, generation=attempt)
        for rank in (0, 1):
            assert "made\nrun\n" in prints(machine, "run", rank=rank, attempt=attempt)
        all_gone(machine)
    assert (tmp_path / "ran").read_text() == "x\nx\n"


def test_a_setup_that_leaves_the_copy_alone_is_not_run_again(machine: Machine, tmp_path: Path) -> None:
    spec = a_copied(machine, "echo run", setup=f"cat main >/dev/null; echo x >>{tmp_path}/ran")
    for attempt in (1, 2, 3):
        begin(machine, spec, a_gang("n1"), attempt=attempt, generation=attempt)
        prints(machine, "run", attempt=attempt)
        all_gone(machine)
    assert (tmp_path / "ran").read_text() == "x\n"


def test_the_key_of_setup_is_that_of_the_bundle_and_not_of_the_place(machine: Machine) -> None:
    spec = a_copied(machine, "echo run", setup="make")
    start = begin(machine, spec, a_gang("n1"))
    other = evolve(spec, bundle=Bundle(id="0" * 64))
    assert setup_key(start, "/here") == setup_key(start, "/there")
    assert setup_key(start, "/here") != setup_key(evolve(start, spec=other), "/here")
    codes(machine, 1)


def test_a_bundle_that_is_not_stored_any_more_fails_the_job_with_the_reason(machine: Machine) -> None:
    spec = a_copied(machine, "echo never")
    begin(machine, evolve(spec, bundle=Bundle(id="0" * 64)), a_gang("n1"))
    assert codes(machine, 1) == {0: 126}
    (end,) = [each for each in machine.events if isinstance(each, WorkersExited)]
    assert "the files of its workdir (bundle 000000000000) are not stored any more: submit it again" in end.problem


def test_a_damaged_bundle_is_never_run(machine: Machine) -> None:
    spec = a_copied(machine, "sh ./main", main="echo as submitted")
    store = team_store(Home(machine.home).bundles, spec.team)
    block = store.block_path(digest(b"echo as submitted"))
    block.chmod(0o600)
    block.write_text("echo tampered with")
    begin(machine, spec, a_gang("n1"))
    assert codes(machine, 1) == {0: 125}
    assert "cannot be unpacked on this node: block" in output(machine, 0)
    assert "tampered" not in output(machine, 0)
    all_gone(machine)


def test_a_killed_worker_leaves_no_copy(machine: Machine) -> None:
    begin(machine, a_copied(machine, "echo here; sleep 1000"), a_gang("n1"))
    prints(machine, "here")
    assert copies(machine) == ["n1/job-1-1"]
    machine.kill(0, generation=2)
    assert codes(machine, 1) == {0: 128 + signal.SIGKILL}
    all_gone(machine)


def test_a_killed_supervisor_leaves_no_copy_once_its_successor_is_there(machine: Machine) -> None:
    begin(machine, a_copied(machine, "echo here; sleep 1000"), a_gang("n1"))
    prints(machine, "here")
    machine.kill_supervisor()
    codes(machine, 1)
    all_gone(machine)


def test_a_sweep_in_the_place_of_a_successor_removes_the_copies_of_its_node_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("MUSTER_SCRATCH", str(tmp_path))
    home.mkdir()
    scratch = scratch_folder(home, os.environ)
    scratch.mkdir()
    for node in ("n1", "n2"):
        (Home(home).node(node)).mkdir(parents=True)
        Journal(Home(home).node(node) / JOURNAL).close()
        claim_copy(scratch, NodeName(node), "job-1-1").mkdir()
    assert sweep(Home(home).node("n1")) == ()
    assert [str(each.relative_to(copies_root(scratch))) for each in copies_root(scratch).glob("*/*")] == ["n2/job-1-1"]


def test_a_command_beside_a_worker_is_in_its_copy(machine: Machine) -> None:
    begin(machine, a_copied(machine, "echo here; sleep 1000"), a_gang("n1"))
    prints(machine, "here")
    with closing(
        machine.backend.attach(JobId("job-1"), Beside(rank=0, line="sh ./main", has_terminal=False))
    ) as beside:
        assert beside.read() == b"as submitted\n"
    machine.kill(0, generation=2)
    codes(machine, 1)
    all_gone(machine)


def test_a_node_without_room_for_the_copy_does_not_start_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = team_store(tmp_path, "nlp")
    manifest = BundleManifest(
        entries=(BundleEntry(path="large", size=BYTES_MOST, blocks=(digest(b"x"),) * (BYTES_MOST // BLOCK_BYTES)),)
    )
    store.put_manifest(manifest)
    full = os.statvfs_result((4096, 4096, 1, 1, 1, 1, 1, 1, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: full)
    with pytest.raises(NoRoomForCopy, match=f"the {BYTES_MOST} bytes of its"):
        unpack_line(tmp_path, "nlp", manifest.id, tmp_path / "copy", tmp_path / "stamp")
