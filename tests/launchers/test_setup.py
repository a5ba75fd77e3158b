"""`setup` runs once on a node and in an attempt, and not again while nothing changed."""

import os
import signal
from pathlib import Path

from muster.model.records import evolve
from muster.worker.launch.setup_records import RECORDS_MOST, record_folder, setup_folder, setup_key
from tests.launchers.gangs import a_gang, begin, codes, output, prints, wait_until
from tests.local.machine import Machine, a_spec


def counts(folder: Path) -> str:
    """A setup that notes on which node it ran."""
    return f"echo $MUSTER_NODE >>{folder}/ran; echo set up"


def ran(folder: Path) -> list[str]:
    file = folder / "ran"
    return sorted(file.read_text().split()) if file.exists() else []


def test_it_runs_once_on_each_node_and_its_output_is_in_the_log_of_one_worker(machine: Machine, tmp_path: Path) -> None:
    begin(machine, a_spec("echo run", setup=counts(tmp_path)), a_gang("n1", "n1", "n1", "n2"))
    assert codes(machine, 4) == dict.fromkeys(range(4), 0)
    assert ran(tmp_path) == ["n1", "n2"]
    logs = sorted(output(machine, rank) for rank in range(3))
    assert logs == ["run\n", "run\n", "set up\nrun\n"]
    assert output(machine, 3) == "set up\nrun\n"


def test_no_worker_of_the_node_runs_before_it_has_ended(machine: Machine, tmp_path: Path) -> None:
    setup = f"echo ready; until [ -e {tmp_path}/go ]; do sleep 0.02; done; touch {tmp_path}/set-up"
    begin(machine, a_spec(f"ls {tmp_path}/set-up", setup=setup), a_gang("n1", "n1"))
    wait_until(lambda: any("ready" in output(machine, rank) for rank in (0, 1)), "setup")
    (tmp_path / "go").touch()
    assert codes(machine, 2) == {0: 0, 1: 0}


def test_its_failure_is_that_of_every_worker_and_the_next_attempt_tries_again(machine: Machine, tmp_path: Path) -> None:
    spec = a_spec("echo never", setup=f"{counts(tmp_path)}; [ $MUSTER_ATTEMPT = 2 ] || exit 7")
    begin(machine, spec, a_gang("n1", "n1", "n1"))
    assert codes(machine, 3) == dict.fromkeys(range(3), 7)
    assert ran(tmp_path) == ["n1"]
    begin(machine, spec, a_gang("n1"), attempt=2, generation=2)
    assert "never" in prints(machine, "never", attempt=2)
    assert ran(tmp_path) == ["n1", "n1"]


def test_it_is_not_run_again_in_another_attempt_unless_a_file_that_it_names_changed(
    machine: Machine, tmp_path: Path
) -> None:
    needs = tmp_path / "requirements.txt"
    needs.write_text("torch\n")
    spec = a_spec("echo run $MUSTER_RESTART", setup=f"{counts(tmp_path)}; cat {needs}")
    for attempt in (1, 2):
        begin(machine, spec, a_gang("n1"), attempt=attempt, generation=attempt)
        prints(machine, f"run {attempt - 1}", attempt=attempt)
    assert ran(tmp_path) == ["n1"]
    needs.write_text("torch numpy\n")
    begin(machine, spec, a_gang("n1"), attempt=3, generation=3)
    prints(machine, "run 2", attempt=3)
    assert ran(tmp_path) == ["n1", "n1"]
    begin(machine, spec, a_gang("n1"), job="job-2")
    prints(machine, "run 0", job="job-2")
    assert ran(tmp_path) == ["n1", "n1", "n1"]


def test_a_killed_worker_takes_its_setup_with_it_and_another_worker_runs_it(machine: Machine, tmp_path: Path) -> None:
    setup = f"echo $$ $MUSTER_RANK >>{tmp_path}/ran; [ $(wc -l <{tmp_path}/ran) -gt 1 ] || exec sleep 1000"
    begin(machine, a_spec("echo run", setup=setup), a_gang("n1", "n1"))
    file = tmp_path / "ran"
    wait_until(lambda: file.exists() and file.read_text().endswith("\n"), "setup")
    pid, rank = map(int, file.read_text().split())
    machine.kill(rank, generation=2)
    found = codes(machine, 2)
    assert found == {rank: 128 + signal.SIGKILL, 1 - rank: 0}
    assert not os.path.exists(f"/proc/{pid}")
    assert "run" in output(machine, 1 - rank)
    assert len(file.read_text().splitlines()) == 2


def test_a_worker_that_waits_for_it_leaves_at_once_when_it_is_told(machine: Machine, tmp_path: Path) -> None:
    begin(machine, a_spec("echo run", setup=f"echo $MUSTER_RANK >>{tmp_path}/ran; sleep 1000"), a_gang("n1", "n1"))
    wait_until(lambda: ran(tmp_path), "setup")
    waiting = 1 - int(ran(tmp_path)[0])
    machine.stop(waiting)
    assert codes(machine, 1) == {waiting: 143}
    assert ran(tmp_path) == [str(1 - waiting)]


def test_what_setup_leaves_running_does_not_keep_others_waiting(machine: Machine, tmp_path: Path) -> None:
    begin(machine, a_spec("echo run", setup="sleep 1000 & echo started"), a_gang("n1", "n1"))
    assert codes(machine, 2) == {0: 0, 1: 0}


def test_records_are_bounded_and_go_with_the_node(machine: Machine, tmp_path: Path) -> None:
    workers = tmp_path / "runtime" / "n1"
    workers.mkdir(parents=True)
    start = begin(machine, a_spec("true", setup="true"), a_gang("n1"))
    for number in range(RECORDS_MOST + 5):
        record_folder(workers, evolve(start, run=f"run-{number}"))
    assert len(list(setup_folder(workers).iterdir())) == RECORDS_MOST
    assert setup_key(start, "/a") != setup_key(start, "/b")
    codes(machine, 1)
