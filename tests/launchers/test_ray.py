"""`launch: ray`: a Ray cluster of the gang, with the real Ray, in a namespace that has a loopback and one more address.

Ray would take the other address, and listen on all of them.
"""

import json
import os
import secrets
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from muster.model.resources import Request
from muster.model.spec import JobSpec, Launch
from muster.worker.gang.ray_gang import _proof
from muster.worker.gang.ray_node import PREFIX
from tests.launchers import gangs
from tests.launchers.gangs import NODES, a_gang, begin, codes, output, prints, wait_until
from tests.local.machine import Machine, a_spec
from tests.ray_cluster import STORE_BYTES, Namespace, ray_python

PROGRAM = """
import os, ray
ray.init(log_to_driver=False, logging_level="ERROR")
nodes = [node for node in ray.nodes() if node["Alive"]]
print("nodes", len(nodes), sorted(node["NodeManagerAddress"] for node in nodes), flush=True)
print("has", ray.cluster_resources()["GPU"], ray.cluster_resources()["CPU"], flush=True)

@ray.remote(num_gpus=2, num_cpus=0)
class Where:
    def rank(self):
        return os.environ["MUSTER_RANK"]

actors = [Where.remote() for _ in nodes]
print("ran beside", sorted(ray.get([each.rank.remote() for each in actors])), flush=True)
"""


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    made = Namespace(f"muster-gang-{secrets.token_hex(3)}")
    made.add_address("10.9.9.1")
    with made.inside():
        yield made
    made.close()


@pytest.fixture
def machine(namespace: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """Two nodes in the namespace, which end with the test, with everything they run."""
    monkeypatch.setattr(
        gangs, "DEADLINE_S", 180.0
    )  # a cluster takes ten seconds, and many times that on a busy machine
    (tmp_path / "home").mkdir()
    made = Machine(tmp_path / "home", NODES)
    yield made
    made.close()


def a_ray(run: str, *, path: str = "", setup: str = "") -> JobSpec:
    env = {
        "PATH": path or f"{ray_python().parent}:{os.environ['PATH']}",
        "RAY_DEFAULT_OBJECT_STORE_MAX_MEMORY_BYTES": str(STORE_BYTES),
    }
    request = Request(gpu_milli=2000, cpu_milli=3000)
    return a_spec(run, launch=Launch.RAY, env=env, request=request, setup=setup)


def folders() -> list[Path]:
    return list(Path("/tmp").glob(f"{PREFIX}{os.geteuid()}-*"))


def test_a_gang_is_a_cluster_and_the_line_runs_once(machine: Machine, namespace: Namespace, tmp_path: Path) -> None:
    before = folders()
    (tmp_path / "program.py").write_text(PROGRAM)
    listens = "ss -Hltn | awk '{print $4}' | sed -e 's/:[0-9]*$//' -e 's/^.::ffff://' -e 's/]$//' | sort -u"
    run = f"cd {tmp_path}\n{ray_python()} program.py && {listens}; exit 7"
    begin(machine, a_ray(run), a_gang("n1", "n2", gpus=2))
    assert codes(machine, 2) == {0: 7, 1: 7}, output(machine, 0) + output(machine, 1)
    assert output(machine, 0).splitlines() == [
        "nodes 2 ['127.0.0.1', '127.0.0.1']",
        "has 4.0 6.0",
        "ran beside ['0', '1']",
        "127.0.0.1",  # where anything listens
    ]
    assert output(machine, 1) == ""
    assert folders() == before
    wait_until(lambda: not namespace.rays(), "nothing of Ray is left")


def test_without_ray_it_is_said(machine: Machine) -> None:
    begin(machine, a_ray("echo never", path="/usr/bin:/bin"), a_gang("n1", "n2"))
    assert codes(machine, 2) == {0: 127, 1: 127}
    for rank in (0, 1):
        assert "launch: ray needs the program `ray` on the PATH" in output(machine, rank)
        assert "never" not in output(machine, rank)


@pytest.mark.engines_only
def test_the_line_hears_that_it_has_to_leave_and_the_cluster_is_still_there(
    machine: Machine, namespace: Namespace, tmp_path: Path
) -> None:
    text = (
        "import ray, signal, sys, time\n"
        "ray.init(log_to_driver=False, logging_level='ERROR')\n"
        "def leave(*_):\n"
        "    print('saved by', ray.get(ray.remote(lambda: 'a task').remote()), flush=True)\n"
        "    sys.exit(3)\n"
        "signal.signal(signal.SIGTERM, leave)\n"
        "print('up', flush=True)\n"
        "while True: time.sleep(0.1)\n"
    )
    (tmp_path / "program.py").write_text(text)
    begin(machine, a_ray(f"cd {tmp_path} && exec {ray_python()} program.py"), a_gang("n1", "n2"))
    prints(machine, "up")
    machine.stop(0, 1, generation=2, grace_ms=30_000)
    assert codes(machine, 2) == {0: 3, 1: 3}
    assert "saved by a task" in output(machine, 0)
    wait_until(lambda: not namespace.rays(), "nothing of Ray is left")


@pytest.mark.engines_only
def test_a_killed_head_takes_the_gang_with_it(machine: Machine, namespace: Namespace) -> None:
    begin(machine, a_ray("echo up; exec sleep 1000"), a_gang("n1", "n2"))
    prints(machine, "up")
    for process in namespace.rays():
        with suppress(OSError):
            if b"gcs_server" in Path(f"/proc/{process}/cmdline").read_bytes()[:200]:
                os.kill(process, signal.SIGKILL)
    found = codes(machine, 2)
    assert 0 not in found.values()
    wait_until(lambda: not namespace.rays(), "nothing of Ray is left")


@pytest.mark.engines_only
def test_whoever_does_not_know_the_token_is_not_told_where_the_cluster_is(machine: Machine) -> None:
    gang = a_gang("n1", "n2")
    spec = a_ray("echo all are here", setup="echo at $MUSTER_MASTER_PORT")
    begin(machine, spec, gang, workers=gang[:1])
    port = int(prints(machine, "at ").split()[1])

    def answer(proof: str) -> bytes:
        with socket.create_connection(("127.0.0.1", port)) as line:
            line.sendall(json.dumps({"gang": proof}).encode() + b"\n")
            line.settimeout(gangs.DEADLINE_S)
            return line.recv(99)

    wait_until(lambda: is_open(port), "the first worker listens")
    assert answer("0" * 64) == b""
    assert b"head" in answer(_proof("job-1 1"))
    machine.kill(0)
    assert codes(machine, 1) == {0: 137}


def is_open(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False
