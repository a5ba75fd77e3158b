"""Commands and reports arrive as they were sent, also from another version."""

import pytest

from muster.model.events import CheckpointSaved, StartFailed, WorkersExited, WorkersStarted
from muster.model.instructions import AskCheckpoint, KillWorkers, SignalStop, StartWorkers
from muster.model.job import Cause
from muster.model.records import evolve
from muster.model.resources import Request
from muster.model.spec import (
    ArraySpec,
    CheckpointSpec,
    Dependency,
    Interactive,
    Launch,
    Parallelism,
    Retry,
    RetryCause,
    TopologySpec,
)
from muster.worker.messages import BadMessage, command, encoded, line, parsed, report
from tests.unit.core.lifecycle.builders import JOB, a_gang, a_spec

FULL = evolve(
    a_spec(),
    launch=Launch.JAX,
    env=(("A", "b"), ("C", "")),
    secrets=("KEY",),
    parallelism=Parallelism(tensor=8),
    topology=TopologySpec(relax_after_ms=5),
    checkpoint=CheckpointSpec(path="s3://b", every_ms=None),
    retry=Retry(limit=3, on=(RetryCause.OOM,)),
    depends_on=(Dependency(job=JOB),),
    array=ArraySpec(indices=(1, 2)),
    tags=(("a", "b"),),
    interactive=Interactive(idle_timeout_ms=1),
    roles=(evolve(a_spec().roles[0], request=Request(gpu_milli=250, throughput=())),),
)

COMMANDS = [
    StartWorkers(job=JOB, attempt=1, generation=2, spec=FULL, workers=a_gang(1), gang=a_gang(2), max_duration_ms=5),
    SignalStop(job=JOB, attempt=1, generation=2, ranks=(0, 1), grace_ms=5, cause=Cause.PREEMPTED),
    KillWorkers(job=JOB, attempt=1, generation=2, ranks=()),
    AskCheckpoint(job=JOB, attempt=1, generation=2),
]
EXIT = WorkersExited(at_ms=1, job=JOB, attempt=1, generation=2, ranks=(3,), exit_code=9, oom=True, told=True)
REPORTS = [
    WorkersStarted(at_ms=1, job=JOB, attempt=1, generation=2, ranks=(3,)),
    EXIT,
    StartFailed(at_ms=1, job=JOB, attempt=1, generation=2, ranks=(3,), message="ünable"),
    CheckpointSaved(at_ms=1, job=JOB, attempt=1, cost_ms=3, saved_ms=7),
]


@pytest.mark.parametrize("sent", COMMANDS, ids=lambda each: type(each).__name__)
def test_a_command_arrives_as_it_was_sent(sent: StartWorkers) -> None:
    assert command(parsed(line(encoded(sent)))) == sent


@pytest.mark.parametrize("sent", REPORTS, ids=lambda each: type(each).__name__)
def test_a_report_arrives_as_it_was_sent(sent: WorkersExited) -> None:
    assert report(parsed(line(encoded(sent)))) == sent


def test_what_a_newer_version_adds_is_passed_over_and_what_it_leaves_out_has_its_default() -> None:
    body = encoded(EXIT)
    del body["oom"]
    assert report({**body, "new": [1]}) == evolve(EXIT, oom=False)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"type": "Nonsense"},
        {"type": "KillWorkers", "job": "j", "attempt": 1, "generation": 1},
        {"type": "KillWorkers", "job": "j", "attempt": "1", "generation": 1, "ranks": []},
        {"type": "KillWorkers", "job": "j", "attempt": 1, "generation": 1, "ranks": 3},
        {"type": "SignalStop", "job": "j", "attempt": 1, "generation": 1, "ranks": [], "grace_ms": 1, "cause": "?"},
    ],
)
def test_what_is_no_command_is_refused(body: dict[str, object]) -> None:
    with pytest.raises(BadMessage):
        command(body)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff", b"3"])
def test_what_is_no_message_is_refused(text: bytes) -> None:
    with pytest.raises(BadMessage):
        parsed(text)
