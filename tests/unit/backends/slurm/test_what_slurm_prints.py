"""What Slurm's programs print, taken apart. The lines were printed by Slurm 22.05."""

import pytest

from muster.backends.allocations.engine import AllocationId, AllocationPhase
from muster.backends.slurm.fields import fields_of, hosts_of
from muster.backends.slurm.jobs import SEPARATOR, comment_of, rows_of, seen
from muster.backends.slurm.nodes import nodes_of, switches_of
from muster.model.ids import EngineName
from muster.model.job import Cause
from muster.model.node import NodeState

HPC = EngineName("hpc")

NODE = (
    "NodeName=n1 Arch=x86_64 CoresPerSocket=1  CPUAlloc=0 CPUEfctv=62 CPUTot=64 AvailableFeatures=ib,fast "
    "ActiveFeatures=ib,fast Gres=gpu:H100:8(S:0-1) GresUsed=gpu:H100:2(IDX:0-1) NodeAddr=10.0.0.1 NodeHostName=n1 "
    "RealMemory=65536 State={state} ThreadsPerCore=1 Partitions=debug,train BootTime=2026-11-18T19:35:39{more}"
)


def test_values_may_have_spaces() -> None:
    line = "NodeName=n1 OS=Linux 6.18 #1 SMP  State=IDLE+DRAIN Reason=fan is loud [root@2026-11-18T19:35:39]"
    assert fields_of(line) == {
        "NodeName": "n1",
        "OS": "Linux 6.18 #1 SMP",
        "State": "IDLE+DRAIN",
        "Reason": "fan is loud [root@2026-11-18T19:35:39]",
    }


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("n1", ("n1",)),
        ("n[1-3,7],gpu01", ("n1", "n2", "n3", "n7", "gpu01")),
        ("a[08-10]b[1-2]", ("a08b1", "a08b2", "a09b1", "a09b2", "a10b1", "a10b2")),
        ("", ()),
        ("(null)", ()),
    ],
)
def test_lists_of_hosts_are_expanded(text: str, hosts: tuple[str, ...]) -> None:
    assert hosts_of(text) == hosts


def test_a_list_of_hosts_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="not a list of hosts"):
        hosts_of("n[a-b]")


def test_a_node_is_taken_as_it_is_described() -> None:
    (found,) = nodes_of(NODE.format(state="IDLE", more=""), engine=HPC, partition="train", switches={"n1": ("s0",)})
    node = found.node
    assert (node.name, node.gpus, node.gpu_type, node.cpu_milli, node.memory_bytes) == (
        "n1",
        8,
        "h100",
        62_000,
        64 << 30,
    )
    assert (node.labels, node.domains, node.engine, found.address, found.gpus_used) == (
        ("fast", "ib"),
        ("s0",),
        HPC,
        "10.0.0.1",
        2,
    )
    assert nodes_of(NODE.format(state="IDLE", more=""), engine=HPC, partition="rain", switches={}) == ()


@pytest.mark.parametrize(
    ("state", "more", "expected", "because"),
    [
        ("MIXED", "", NodeState.READY, ""),
        ("ALLOCATED+PLANNED", "", NodeState.READY, ""),
        ("IDLE+DRAIN", " Reason=fan is loud [root@2026-11-18T19:35:39]", NodeState.DRAINING, "fan is loud"),
        ("MIXED+MAINT", "", NodeState.DRAINING, "it is in maintenance"),
        ("IDLE+RESERVED", "", NodeState.DRAINING, "it is reserved for others"),
        ("DOWN*", " Reason=Not responding [slurm@2026-11-18T19:35:39]", NodeState.DOWN, "Not responding"),
        ("IDLE*", "", NodeState.DOWN, "it does not respond"),
        ("DOWN+DRAIN", " Reason=lost", NodeState.DOWN, "lost"),
    ],
)
def test_states_of_nodes_mean_what_they_do_in_slurm(state: str, more: str, expected: NodeState, because: str) -> None:
    (found,) = nodes_of(NODE.format(state=state, more=more), engine=HPC, partition="train", switches={})
    assert (found.node.state, found.because) == (expected, because)


def test_switches_are_levels_the_outermost_first() -> None:
    text = (
        "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[0-1]\n"
        "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n2\n"
        "SwitchName=root Level=1 LinkSpeed=1 Nodes=n[0-2] Switches=s0,s1\n"
    )
    assert switches_of(text) == {"n0": ("root", "s0"), "n1": ("root", "s0"), "n2": ("root", "s1")}


def row(job: str, state: str, reason: str = "None", nodes: str = "", comment: str = "muster m1 ab12") -> str:
    return SEPARATOR.join((job, state, reason, nodes, comment))


def test_jobs_of_others_are_not_seen() -> None:
    text = "\n".join(
        (row("1", "RUNNING"), row("2", "RUNNING", comment="muster m2 cd"), row("3", "RUNNING", comment=""))
    )
    assert [each.engine_id for each in seen(rows_of(text, "m1"))] == ["1"]
    assert comment_of("m1", AllocationId("ab12")) == "muster m1 ab12"


@pytest.mark.parametrize(
    ("state", "reason", "phase", "cause", "because"),
    [
        ("PENDING", "Resources", AllocationPhase.WAITING, None, "it waits in Slurm (Resources)"),
        ("RUNNING", "None", AllocationPhase.RUNNING, None, ""),
        ("COMPLETING", "None", AllocationPhase.ENDING, None, ""),
        ("COMPLETED", "None", AllocationPhase.ENDED, None, ""),
        ("CANCELLED", "None", AllocationPhase.ENDED, Cause.CANCELLED, "cancelled in Slurm"),
        ("PREEMPTED", "None", AllocationPhase.ENDED, Cause.PREEMPTED, "preempted in Slurm"),
        ("TIMEOUT", "TimeLimit", AllocationPhase.ENDED, Cause.TIMEOUT, "its time in Slurm was over (TimeLimit)"),
        ("OUT_OF_MEMORY", "None", AllocationPhase.ENDED, Cause.OOM, "it ran out of the memory that Slurm gave it"),
        ("NODE_FAIL", "None", AllocationPhase.ENDED, Cause.NODE_FAILURE, "Slurm lost one of its nodes"),
        ("BOOT_FAIL", "None", AllocationPhase.ENDED, Cause.START_FAILURE, "Slurm could not boot a node for it"),
    ],
)
def test_states_of_jobs_mean_what_they_do_in_slurm(
    state: str, reason: str, phase: AllocationPhase, cause: Cause | None, because: str
) -> None:
    (found,) = seen(rows_of(row("7", state, reason, "n[1-2]"), "m1"))
    assert (found.phase, found.cause, found.because) == (phase, cause, because)
    assert found.nodes == (("n1", "n2") if phase is AllocationPhase.RUNNING else ())


def test_parts_of_a_heterogeneous_job_are_one_allocation() -> None:
    text = "\n".join((row("7+0", "RUNNING", nodes="n1"), row("7+1", "RUNNING", nodes="n2")))
    (found,) = seen(rows_of(text, "m1"))
    assert (found.engine_id, found.nodes) == ("7", ("n1", "n2"))


def test_two_jobs_for_one_allocation_are_told_apart() -> None:
    text = "\n".join((row("7", "RUNNING", nodes="n1"), row("8", "PENDING")))
    assert [each.engine_id for each in seen(rows_of(text, "m1"))] == ["7", "8"]
