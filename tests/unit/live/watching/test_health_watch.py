"""The watch over the health of nodes, with a clock that the test moves."""

from collections.abc import Sequence
from typing import Any

from muster.backends.fake import FakeBackend
from muster.core.health import HealthPolicy
from muster.engine.engine import Engine
from muster.live.publishing.feed import Feed
from muster.live.publishing.publisher import Publisher
from muster.live.watching.health_watch import OVERRULED_MS, HealthWatch
from muster.model.events import ENGINE, HEALTH, NodeChanged, NodeUnreachable, ObservedEvent
from muster.model.ids import JobId, NodeName
from muster.model.node import Node, NodeState
from muster.model.records import evolve
from muster.model.telemetry import NodeTested, ProbeNote, RankProgress, Signal
from muster.store.memory import MemoryLog
from tests.builders import NOW_MS, a_scenario, flat

N1 = NodeName("n1")
EVERY_MS = 10_000


class Watched:
    """A fleet of four nodes, an engine and a watch."""

    def __init__(self, *, is_tested: bool = False) -> None:
        self.now_ms = NOW_MS
        self.engine = Engine(
            scenario=a_scenario(flat(4, gpus=2), now_ms=NOW_MS), log=MemoryLog(), backend=FakeBackend(now_ms=NOW_MS)
        )
        self.policy = HealthPolicy(every_ms=EVERY_MS, is_tested=is_tested)
        self.asked: list[tuple[NodeName, int]] = []
        self.publisher = Publisher(Feed(0))
        self.restart()
        self.pass_time(20)

    def restart(self) -> None:
        """The control plane is started again."""
        self.watch = HealthWatch(
            self.policy, now_ms=self.now_ms, ask_test=lambda node, number: self.asked.append((node, number))
        )

    def tell(self, name: str, value: int = 0, *, node: str = "n1", **fields: Any) -> None:
        self.watch.take(Signal(node=NodeName(node), at_ms=self.now_ms, signal=name, value=value, **fields))

    def look(self) -> Sequence[ObservedEvent]:
        self.publisher.begin(self.engine.state)
        events = self.watch.look(self.publisher.view, self.now_ms)
        self.engine.observe(*events)
        return events

    def pass_time(self, readings: int, name: str = "", value: int = 0, **fields: Any) -> None:
        """So many readings of a signal, and a look after each."""
        for _ in range(readings):
            self.now_ms += EVERY_MS
            if name:
                self.tell(name, value, **fields)
            self.look()

    def node(self, name: str = "n1") -> Node:
        return self.engine.state.nodes[NodeName(name)]

    def operator_says(self, state: NodeState) -> None:
        node = evolve(self.node(), state=state, bad_gpus=())
        self.engine.observe(NodeChanged(at_ms=self.now_ms, node=node, because="", by="ann"))


def test_a_verdict_is_reported_once_with_its_reason() -> None:
    watched = Watched()
    watched.tell("custom.fabric", verdict="bad")
    (event,) = watched.look()
    assert isinstance(event, NodeChanged)
    assert (event.by, event.because, event.condemns) == (HEALTH, "custom.fabric says bad", True)
    assert watched.node().state is NodeState.DRAINED
    assert watched.look() == []


def test_a_node_is_tested_stays_on_probation_and_returns() -> None:
    watched = Watched(is_tested=True)
    watched.tell("custom.fabric", verdict="bad")
    watched.look()
    watched.pass_time(8, "custom.fabric", verdict="ok")
    assert len(watched.asked) == 1
    assert watched.watch.report(watched.node()).waits == "is being tested"
    number = watched.asked[0][1]
    watched.watch.take(NodeTested(node=N1, at_ms=0, number=number + 7, exit_code=0))
    watched.look()
    assert watched.node().state is NodeState.DRAINED
    watched.watch.take(NodeTested(node=N1, at_ms=0, number=number, exit_code=3, problem="exit code 3: too slow"))
    watched.look()
    assert "its test failed (exit code 3: too slow)" in watched.watch.report(watched.node()).waits
    watched.pass_time(6, "custom.fabric", verdict="ok")
    assert len(watched.asked) == 2
    watched.watch.take(NodeTested(node=N1, at_ms=0, number=watched.asked[-1][1], exit_code=0))
    watched.look()
    assert watched.node().state is NodeState.PROBATION
    watched.pass_time(7, "custom.fabric", verdict="ok")
    assert watched.node().state is NodeState.READY


def test_a_test_that_is_not_answered_is_asked_for_again() -> None:
    watched = Watched(is_tested=True)
    watched.tell("custom.fabric", verdict="bad")
    watched.look()
    watched.pass_time(8, "custom.fabric", verdict="ok")
    watched.pass_time(180, "custom.fabric", verdict="ok")
    assert len(watched.asked) == 1
    watched.pass_time(4, "custom.fabric", verdict="ok")
    assert len(watched.asked) == 2


def test_timers_start_again_with_the_control_plane_and_states_do_not() -> None:
    watched = Watched()
    watched.tell("custom.fabric", verdict="bad")
    watched.tell("gpu_lost", 1, gpu=1, node="n2")
    watched.look()
    watched.restart()
    assert watched.look() == []
    assert (watched.node().state, watched.node("n2").bad_gpus) == (NodeState.DRAINED, (1,))
    report = watched.watch.report(watched.node("n2"))
    assert [(gpu.state.value, gpu.because) for gpu in report.gpus] == [
        ("ready", ""),
        ("drained", "was bad, and is watched"),
    ]
    watched.pass_time(13)
    assert watched.node().state is NodeState.READY
    assert watched.node("n2").bad_gpus == ()


def test_an_operator_overrules_health_until_new_evidence_comes() -> None:
    watched = Watched()
    watched.pass_time(1, "custom.fabric", verdict="bad")
    watched.operator_says(NodeState.READY)
    watched.pass_time(5, "custom.fabric", verdict="bad")
    assert watched.node().state is NodeState.READY
    watched.pass_time(1, "gpu_lost", 1, gpu=0)
    assert watched.node().bad_gpus == (0,)
    watched.pass_time(8, "custom.fabric", verdict="ok")
    watched.pass_time(1, "custom.fabric", verdict="bad")
    assert watched.node().state is NodeState.DRAINED


def test_an_operator_overrules_health_also_when_the_control_plane_is_started_again() -> None:
    watched = Watched()
    watched.pass_time(3, "gpu_temperature", 97, gpu=0)
    assert watched.node().bad_gpus == (0,)
    watched.operator_says(NodeState.READY)
    watched.restart()
    watched.pass_time(20, "gpu_temperature", 97, gpu=0)
    assert watched.node().bad_gpus == ()
    watched.now_ms += OVERRULED_MS
    watched.pass_time(1, "gpu_temperature", 97, gpu=0)
    assert watched.node().bad_gpus == (0,)


def test_what_the_whole_machine_shows_says_nothing_about_one_of_its_nodes() -> None:
    watched = Watched()
    watched.pass_time(10, "disk_free", 0, is_shared=True)
    assert watched.node().state is NodeState.READY
    assert [signal.signal for signal in watched.watch.report(watched.node()).signals] == ["disk_free"]


def test_a_signal_that_is_gone_is_not_shown_and_forgotten() -> None:
    watched = Watched()
    watched.pass_time(1, "custom.fabric", verdict="suspect")
    assert watched.node().state is NodeState.SUSPECT
    watched.tell("custom.fabric", verdict="suspect", is_gone=True)
    assert watched.watch.report(watched.node()).signals == ()
    watched.pass_time(7)
    assert watched.node().state is NodeState.READY
    watched.pass_time(1, "custom.other", verdict="ok")
    watched.pass_time(1, "custom.other", verdict="ok", is_gone=True)
    watched.pass_time(1, "custom.never", verdict="bad", is_gone=True)
    assert watched.node().state is NodeState.READY


def test_a_node_that_is_down_is_not_judged() -> None:
    watched = Watched()
    watched.pass_time(1, "gpu_lost", 1, gpu=0)
    watched.engine.observe(NodeUnreachable(at_ms=watched.now_ms, node=N1))
    watched.pass_time(30)
    assert (watched.node().state, watched.node().bad_gpus) == (NodeState.DOWN, (0,))


def test_notes_on_probes_are_no_verdicts() -> None:
    watched = Watched()
    watched.watch.take(ProbeNote(node=N1, at_ms=0, probe="command", text="the command probe: line 1: not JSON"))
    watched.look()
    assert watched.watch.report(watched.node()).notes == ("the command probe: line 1: not JSON",)
    watched.watch.take(ProbeNote(node=N1, at_ms=0, probe="command"))
    assert watched.watch.report(watched.node()).notes == ()
    assert watched.node().state is NodeState.READY


def test_values_of_other_kinds_and_of_nodes_that_are_gone_are_passed_over() -> None:
    watched = Watched()
    progress = RankProgress(
        job=JobId("job-1"), attempt=1, at_ms=0, rank=0, world=1, worker=0, node=N1, step=1, step_ms=0
    )
    watched.watch.take(progress)
    watched.pass_time(1, "custom.fabric", verdict="bad", node="gone")
    assert watched.look() == []


def test_a_suspect_gpu_is_shown_and_makes_its_node_suspect() -> None:
    watched = Watched()
    watched.pass_time(1, "gpu_temperature", 90, gpu=1)
    assert watched.node().state is NodeState.SUSPECT
    report = watched.watch.report(watched.node())
    assert (report.gpus[1].state, report.gpus[1].because) == (NodeState.SUSPECT, "90 °C")
    assert report.because == "GPU 1: 90 °C"


def test_a_node_that_a_job_left_because_of_a_hang_is_used_last_for_a_while() -> None:
    watched = Watched()
    suspect = evolve(watched.node(), state=NodeState.SUSPECT)
    watched.engine.observe(NodeChanged(at_ms=watched.now_ms, node=suspect, because="a rank stood still", by=ENGINE))
    watched.pass_time(6)
    assert watched.node().state is NodeState.SUSPECT
    watched.pass_time(1)
    assert watched.node().state is NodeState.READY
