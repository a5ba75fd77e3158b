"""How well a cluster can be filled: Monte-Carlo inflation as in FGD (USENIX ATC '23), one JSON line per rule.

Pods drawn at random from a trace come one by one and never leave, until more GPUs have been requested than there are.
A pod that does not fit is rejected. The GPUs that are free in the end are the price of placement.

`muster` is the planning core: every pod is queued, planned and started as on a live cluster. The other rules choose
the node themselves. Which devices of the node a pod gets is decided in the same way for all rules.

The trace is not part of this repository. Give its folder as the first argument or in MUSTER_TRACES.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random

from benchmarks.carry_out import carry_out
from muster.core.cluster.capacity import Capacity
from muster.core.cluster.free_states import FreeState
from muster.core.cluster.gang import Choice, Gang
from muster.core.planning import plan
from muster.core.planning.placing.placement import Seating, seat
from muster.core.snapshot import Snapshot
from muster.formats.rules.cluster_file import read_cluster
from muster.formats.traces.trace_file import read_trace
from muster.model.ids import JobId
from muster.model.job import RunningJob, WaitingJob
from muster.model.node import ClusterSpec
from muster.model.policy import DEFAULT_TIERS
from muster.model.resources import GPU_MILLI
from muster.model.scenario import Scenario
from muster.model.spec import JobSpec
from muster.policies import find_policy
from muster.sim.fragmentation import FreeNode, JobMix
from muster.sim.submissions import TraceSubmissions

TRACE = "openb_default"
SEEDS = (1, 2, 3)
REQUESTED = 1.3
"""How many times the GPUs of the cluster are requested in all."""
MISSING = 2

NodeRule = Callable[[Capacity, Sequence[tuple[int, Choice]]], tuple[int, Choice]]
"""Chooses one of the nodes on which a pod fits."""


def sample(specs: Sequence[JobSpec], cluster: ClusterSpec, seed: int, requested: float = REQUESTED) -> list[JobSpec]:
    """Pods drawn with replacement until they ask for `requested` times the GPUs of the cluster."""
    chance = Random(seed)
    left = requested * sum(node.gpus for node in cluster.nodes) * GPU_MILLI
    drawn: list[JobSpec] = []
    while left > 0:
        drawn.append(chance.choice(specs))
        left -= drawn[-1].gang_gpu_milli
    return drawn


def empty(cluster: ClusterSpec) -> Snapshot:
    """A cluster on which nothing runs. No job is preempted or promised a start, so only placement matters."""
    rules = find_policy("greedy").rules
    return Snapshot.of(Scenario(now_ms=0, cluster=cluster, teams=(), tiers=DEFAULT_TIERS, policy=rules))


def fill_as_planned(snapshot: Snapshot, pods: Iterable[JobSpec]) -> None:
    """Queue, plan and start one pod after another. A pod that cannot start at once is rejected."""
    for number, spec in enumerate(pods):
        job = JobId(f"p{number:06d}")
        snapshot.enqueue(WaitingJob(id=job, spec=spec, submitted_ms=0))
        carry_out(snapshot, plan(snapshot, 0))
        if job in snapshot.queue.jobs:
            snapshot.dequeue(job)
            snapshot.promise(())


def fill_by(snapshot: Snapshot, pods: Iterable[JobSpec], rule: NodeRule) -> None:
    """Start one pod after another on the node that a rule chooses. A pod that fits nowhere is rejected."""
    for number, spec in enumerate(pods):
        job = WaitingJob(id=JobId(f"p{number:06d}"), spec=spec, submitted_ms=0)
        seating = _seated(snapshot.capacity, snapshot.queue.gang(job)[1], rule)
        if seating is not None:
            snapshot.start(RunningJob(id=job.id, spec=spec, started_ms=0, workers=seating.workers))


def _seated(capacity: Capacity, gang: Gang, rule: NodeRule) -> Seating | None:
    open_nodes = [
        (node, choice)
        for choice in gang.choices
        for number, shelf in capacity.shelves.items()
        if shelf and capacity.states.slots(choice.asks[0])[number]
        for node in shelf
    ]
    if not open_nodes:
        return None
    node, choice = rule(capacity, open_nodes)
    workers, uses = seat(capacity, gang.parts[0], choice.asks[0], [(node, 1)], first_rank=0)
    return Seating(workers=tuple(workers), footprint=tuple(uses))


def best_fit(capacity: Capacity, open_nodes: Sequence[tuple[int, Choice]]) -> tuple[int, Choice]:
    """The node with the least free GPUs, CPUs and memory, each as a part of the largest node's amount, summed."""
    nodes = capacity.tree.nodes
    most = (
        max(node.gpus for node in nodes) * GPU_MILLI,
        max(node.cpu_milli for node in nodes),
        max(node.memory_bytes for node in nodes),
    )

    def left(entry: tuple[int, Choice]) -> tuple[float, int]:
        state = capacity.states.states[capacity.number[entry[0]]]
        amounts = (_free_milli(state), state.cpu_milli, state.memory_bytes)
        return sum(amount / whole for amount, whole in zip(amounts, most, strict=True)), entry[0]

    return min(open_nodes, key=left)


def at_random(seed: int) -> NodeRule:
    """Any node on which the pod fits."""
    chance = Random(seed)
    return lambda _, open_nodes: chance.choice(open_nodes)


def unallocated(snapshot: Snapshot) -> float:
    """The part of all GPUs that no job has."""
    whole = sum(node.gpus for node in snapshot.setting.tree.nodes) * GPU_MILLI
    return snapshot.capacity.free_milli[0][0] / whole


def fragmented(snapshot: Snapshot, specs: Iterable[JobSpec]) -> float:
    """FGD's measure: the expected part of all GPUs that is free and that a pod drawn from the trace cannot use."""
    tree, mix = snapshot.setting.tree, JobMix(specs)
    whole = sum(node.gpus for node in tree.nodes) * GPU_MILLI
    return sum(mix.fragments(_free_node(snapshot, index)) for index in range(len(tree.nodes))) / whole


def _free_node(snapshot: Snapshot, index: int) -> FreeNode:
    node, capacity = snapshot.setting.tree.nodes[index], snapshot.capacity
    state = capacity.states.states[capacity.number[index]]
    gpus_milli = (*state.partial, *(GPU_MILLI,) * state.whole)
    return FreeNode(gpus_milli, state.cpu_milli, state.memory_bytes, node.gpu_type)


def _free_milli(state: FreeState) -> int:
    return state.whole * GPU_MILLI + sum(state.partial)


def measure(specs: Sequence[JobSpec], cluster: ClusterSpec, rule: str, seed: int) -> dict[str, object]:
    """Fill the cluster by one rule and return what is left."""
    pods, snapshot = sample(specs, cluster, seed), empty(cluster)
    cpu_s = time.process_time()
    if rule == "muster":
        fill_as_planned(snapshot, pods)
    else:
        fill_by(snapshot, pods, best_fit if rule == "best fit" else at_random(seed))
    return {
        "case": f"packing, {rule}",
        "seed": seed,
        "pods": len(pods),
        "placed": len(snapshot.running),
        "unallocated_percent": round(100 * unallocated(snapshot), 2),
        "fragmented_percent": round(100 * fragmented(snapshot, specs), 2),
        "cpu_s": round(time.process_time() - cpu_s, 1),
    }


def traces(arguments: Sequence[str]) -> Path:
    """Where the traces are: the first argument, or MUSTER_TRACES. Ends the program when they are not there."""
    named = arguments[0] if arguments else os.environ.get("MUSTER_TRACES", "")
    if named and (Path(named) / f"{TRACE}.csv.gz").is_file():
        return Path(named)
    sys.stderr.write(
        f"{TRACE}.csv.gz is not in {named or 'any folder named'}: it is not part of this repository. "
        "Give its folder as an argument or in MUSTER_TRACES.\n"
    )
    raise SystemExit(MISSING)


def main(arguments: Sequence[str]) -> None:
    """Fill the cluster of the trace by every rule and seed."""
    folder = traces(arguments)
    cluster = read_cluster(folder / f"{TRACE}.cluster.json")
    submissions = TraceSubmissions(cluster.nodes)
    specs = [submissions.spec(job) for job in read_trace(folder / f"{TRACE}.csv.gz").jobs]
    for seed in SEEDS:
        for rule in ("muster", "best fit", "random"):
            sys.stdout.write(json.dumps(measure(specs, cluster, rule, seed)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
