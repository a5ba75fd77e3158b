"""Any Python of a job finds `muster.train`, and one with a Muster of its own finds the rest there."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from muster.worker.launch import training_path
from muster.worker.launch.runtime_folder import runtime_folder
from tests.launchers.gangs import a_gang, begin, codes, output, wait_until
from tests.local.machine import Machine, a_spec, is_alive

NOTHING_ELSE = (
    "import muster.train.board, importlib.util as u; print(muster.train.board.SIZE, u.find_spec('muster.core'))"
)
CLIENT = "import muster, muster.train; print(muster.train.__file__, muster.Client.__name__, bool(muster.__version__))"


def test_a_plain_interpreter_finds_only_the_training_package(machine: Machine) -> None:
    run = f'{sys.executable} -S -c "{NOTHING_ELSE}"; echo $PYTHONPATH; ls -d $MUSTER_HOT/n1; stat -c %a $MUSTER_BOARDS'
    begin(machine, a_spec(run, env={"PYTHONPATH": "/mine:/others"}), a_gang("n1"))
    assert codes(machine, 1) == {0: 0}, output(machine, 0)
    found, path, hot, mode = output(machine, 0).splitlines()
    assert found == "4096 None"
    assert path.split(":") == [str(runtime_folder(machine.home) / ".train-n1"), "/mine", "/others"]
    assert hot.endswith("/hot/n1")
    assert mode == "700"


def test_an_interpreter_with_a_muster_of_its_own_still_has_the_client(machine: Machine) -> None:
    begin(machine, a_spec(f'{sys.executable} -c "{CLIENT}"'), a_gang("n1"))
    assert codes(machine, 1) == {0: 0}, output(machine, 0)
    file, client, has_version = output(machine, 0).split()
    assert file.startswith(str(runtime_folder(machine.home)))
    assert (client, has_version) == ("Client", "True")


def test_what_muster_does_not_have_is_an_ordinary_error(tmp_path: Path) -> None:
    (tmp_path / "runtime").mkdir()
    path = training_path.provide(tmp_path / "runtime" / "n1")
    assert training_path.provide(tmp_path / "runtime" / "n1") == path
    for options in ([], ["-S"]):
        command = [sys.executable, *options, "-c", "import muster; print(hasattr(muster, 'nothing'))"]
        found = subprocess.run(command, env={"PYTHONPATH": str(path)}, capture_output=True, text=True, check=True)
        assert found.stdout == "False\n"
    assert {each.name for each in (path / "muster").iterdir()} - {"__pycache__"} == {"__init__.py", "train"}
    training_path.withdraw(tmp_path / "runtime" / "n1")
    assert not path.exists()


def test_everything_beside_the_workers_goes_with_the_last_node(machine: Machine) -> None:
    begin(machine, a_spec("true", setup="true"), a_gang("n1", "n2"))
    codes(machine, 2)
    assert {each.name for each in runtime_folder(machine.home).iterdir()} >= {".train-n1", ".setup-n2", "n1", "n2"}
    machine.close()
    assert not runtime_folder(machine.home).exists()


def test_a_node_whose_home_was_removed_still_ends_in_order(machine: Machine) -> None:
    begin(machine, a_spec("true"), a_gang("n1"))
    codes(machine, 1)
    runtime, pids = runtime_folder(machine.home), [machine.supervisor(node).pid for node in ("n1", "n2")]
    machine.backend.close()
    shutil.rmtree(machine.home)
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda pid=pid: not is_alive(pid), "its end")  # type: ignore[misc]
    assert not runtime.exists()
    machine.home.mkdir()
