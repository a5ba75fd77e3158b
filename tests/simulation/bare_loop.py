"""First come, first served by a bare event loop, for comparison: nothing here is Muster's but the rule for its gangs.

A gang goes to the node that it fills most, the first of equals; one that is too large for a node takes equal parts of
as few empty nodes as possible, from the other end. A gang that does not fit keeps all jobs behind it waiting.
"""

import heapq
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from muster.model.trace import TraceJob

Taken = list[tuple[int, int]]
"""Nodes, and GPUs on each."""


class _End(NamedTuple):
    at_ms: int
    place: int
    taken: Taken


def mean_completion_s(jobs: Sequence[TraceJob], nodes: int, node_gpus: int) -> float:
    """How long jobs take from submission to end, on average."""
    free = [node_gpus] * nodes
    waiting: deque[int] = deque()
    ends: list[_End] = []
    total_ms = coming = 0
    while coming < len(jobs) or ends:
        submit_ms = jobs[coming].submit_ms if coming < len(jobs) else None
        now_ms = min(each for each in (submit_ms, ends[0].at_ms if ends else None) if each is not None)
        while ends and ends[0].at_ms <= now_ms:
            for node, gpus in heapq.heappop(ends).taken:
                free[node] += gpus
        while coming < len(jobs) and jobs[coming].submit_ms <= now_ms:
            waiting.append(coming)
            coming += 1
        while waiting and (taken := _seats(free, int(jobs[waiting[0]].gpus), node_gpus)):
            place = waiting.popleft()
            for node, gpus in taken:
                free[node] -= gpus
            end_ms = now_ms + max(jobs[place].run_ms, 1)
            heapq.heappush(ends, _End(end_ms, place, taken))
            total_ms += end_ms - jobs[place].submit_ms
    assert not waiting, "a gang that never fits"
    return total_ms / len(jobs) / 1000


def _seats(free: list[int], gpus: int, node_gpus: int) -> Taken:
    if gpus <= node_gpus:
        fitting = [(left, node) for node, left in enumerate(free) if left >= gpus]
        return [(min(fitting)[1], gpus)] if fitting else []
    workers = next(count for count in range(-(-gpus // node_gpus), gpus + 1) if gpus % count == 0)
    each = gpus // workers
    empty = [node for node, left in enumerate(free) if left == node_gpus]
    seats = [(node, each) for node in reversed(empty) for _ in range(node_gpus // each)]
    return seats[:workers] if len(seats) >= workers else []
