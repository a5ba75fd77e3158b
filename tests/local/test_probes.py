"""Probes of real supervisors: commands run beside workers, within their bounds, and nothing waits for them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from muster.backends.local.backend import LocalBackend
from muster.backends.local.node_settings import NodeSettings
from muster.model.ids import NodeName
from muster.model.telemetry import NodeTested, ProbeNote, Signal, Telemetry
from muster.worker.probes.prober import ProbeSettings
from tests.local.machine import Machine, eventually, is_alive


class Probed(Machine):
    """A machine whose nodes run a command as a probe."""

    command = ""
    test = ""

    def connect(self) -> LocalBackend:
        self.measured: list[Telemetry] = []
        settings = ProbeSettings(
            every_ms=1_000, command=self.command, test=self.test, folder=str(self.home), is_shared=True
        )
        return LocalBackend(self.home, self.nodes, settings=NodeSettings(probes=settings))

    def values(self, kind: type[Telemetry]) -> list[Telemetry]:
        self.measured += self.backend.telemetry()
        self.poll()
        return [each for each in self.measured if isinstance(each, kind)]

    def signals(self, name: str) -> list[Signal]:
        return [each for each in self.values(Signal) if isinstance(each, Signal) and each.signal == name]

    def outcomes(self) -> list[NodeTested]:
        return [each for each in self.values(NodeTested) if isinstance(each, NodeTested)]

    def notes(self) -> list[str]:
        return [each.text for each in self.values(ProbeNote) if isinstance(each, ProbeNote)]


MakeProbed = Callable[..., Probed]


@pytest.fixture
def probed(tmp_path: Path) -> Iterator[MakeProbed]:
    made: list[Probed] = []

    def make(command: str = "", test: str = "") -> Probed:
        kind = type("ProbedNow", (Probed,), {"command": command, "test": test})
        made.append(kind(tmp_path))
        return made[-1]

    yield make
    for machine in made:
        machine.close()


def test_the_command_reports_signals_and_what_it_stops_to_mention_is_gone(probed: MakeProbed) -> None:
    machine = probed("cat signals.$MUSTER_NODE")
    lines = machine.home / "signals.n1"
    eventually(lambda: any("No such file" in text for text in machine.notes()), what="a note on the failure")
    lines.write_text('{"signal": "gpu_xid", "gpu": 1, "value": 2}\n')
    found = eventually(lambda: machine.signals("gpu_xid"), what="the signal")[0]
    assert (found.gpu, found.value, found.rise) == (1, 2, 2)
    assert machine.notes()[-1] == ""
    lines.write_text("")
    eventually(lambda: machine.signals("gpu_xid")[-1].is_gone, what="that it is gone")
    assert machine.signals("disk_free")[0].is_shared


def test_a_command_that_hangs_or_prints_without_end_is_ended_and_workers_do_not_notice(probed: MakeProbed) -> None:
    machine = probed("echo $$ > pid; yes")
    machine.start("sleep 1000")
    machine.is_up()
    eventually(lambda: any("printed more than" in text for text in machine.notes()), what="a note")
    pid = int((machine.home / "pid").read_text())
    eventually(lambda: not is_alive(pid), what="its end")
    machine.stop()
    assert machine.exit_of().told


def test_the_test_of_a_node_is_run_beside_its_probes_and_outlives_the_ends_of_workers(probed: MakeProbed) -> None:
    machine = probed(
        "true", "echo begun > test.$MUSTER_NODE; while [ ! -e go ]; do sleep 0.05; done; echo bad >&2; exit 3"
    )
    machine.start("true")
    machine.exit_of()
    machine.backend.test(NodeName("n1"), 7)
    eventually((machine.home / "test.n1").exists, what="the test")
    machine.start("true", job="job-2")
    machine.exit_of(job="job-2")
    (machine.home / "go").touch()
    (tested,) = eventually(machine.outcomes, what="its outcome")
    assert (tested.number, tested.exit_code, tested.problem) == (7, 3, "exit code 3: bad")


def test_a_test_that_is_not_configured_fails(probed: MakeProbed) -> None:
    machine = probed()
    eventually(lambda: machine.signals("disk_free"), what="a first measurement")
    machine.backend.test(NodeName("n1"), 8)
    (tested,) = eventually(machine.outcomes, what="its outcome")
    assert (tested.exit_code, tested.problem) == (127, "no test is configured")


def test_what_a_probe_runs_ends_with_its_supervisors_successor(probed: MakeProbed) -> None:
    machine = probed("echo $$ > pid; sleep 1000")
    eventually((machine.home / "pid").exists, what="the command")
    pid = int(eventually((machine.home / "pid").read_text, what="its number"))
    machine.kill_supervisor()
    eventually(lambda: not is_alive(pid), what="the end of the command")
