"""When a waiting job will start, roughly: half of the time by `p50`, nine times in ten by `p90`.

GPUs are treated as a fluid per type. Running jobs give their GPUs back over time (at their limit for p90, at their
expected end for p50), and the queue takes them in order. Never used for promises, which rest on limits or departures.
"""

from bisect import bisect_left
from itertools import accumulate

from muster.core.cluster.gang import Gang
from muster.core.snapshot import Snapshot
from muster.model.ids import GpuType, JobId
from muster.model.job import RunningJob
from muster.model.plan import Plan
from muster.model.policy import HOUR_MS
from muster.model.team import ANY_TYPE


class Fluid:
    """The GPUs of one type coming free over time, and how many of them the queue has asked for so far."""

    def __init__(self, free_milli: int, total_milli: int, ends: list[tuple[int, int]], now_ms: int) -> None:
        self._now_ms = now_ms
        self._free_milli = free_milli
        self._total_milli = max(total_milli, 1)
        ends.sort()
        self._times = [at_ms for at_ms, _ in ends]
        self._given = list(accumulate(milli for _, milli in ends))
        self._asked = 0

    def drink(self, milli: int, *, is_considered: bool = True) -> int:
        """When this much more will have come free, after all that was asked for before.

        A job that was considered and did not start needs at least one more job to end first.
        """
        self._asked += milli
        missing = max(self._asked - self._free_milli, int(is_considered))
        if not missing:
            return self._now_ms
        at = bisect_left(self._given, missing)
        if at < len(self._times):
            return self._times[at]
        return self._beyond(missing)

    def _beyond(self, missing: int) -> int:
        """After all running jobs have ended, the cluster is assumed to turn over at its present pace."""
        last_ms = self._times[-1] if self._times else self._now_ms + HOUR_MS
        given = self._given[-1] if self._given else 0
        return last_ms + (missing - given) * (last_ms - self._now_ms) // self._total_milli


class StartForecast:
    """Start estimates for a whole queue, asked for in queue order."""

    def __init__(self, snapshot: Snapshot, plan: Plan) -> None:
        self._snapshot = snapshot
        self._now_ms = plan.now_ms
        self._promises = {promise.job: promise.start_ms for promise in plan.promises}
        used = self._used_by_starts(plan)
        total, free = self._supply()
        kinds = snapshot.setting.gpu_types
        self._likely = {
            kind: Fluid(free[kind] - used.get(kind, 0), total[kind], self._ends(kind, likely=True), self._now_ms)
            for kind in kinds
        }
        self._late = {
            kind: Fluid(free[kind] - used.get(kind, 0), total[kind], self._ends(kind, likely=False), self._now_ms)
            for kind in kinds
        }

    def _used_by_starts(self, plan: Plan) -> dict[GpuType, int]:
        used: dict[GpuType, int] = {}
        tree = self._snapshot.setting.tree
        for start in plan.starts:
            spec = self._snapshot.queue.jobs[start.job].spec
            requests = {role.name: role.request.gpu_milli for role in spec.roles}
            for worker in start.workers:
                kind = tree.nodes[tree.index_of[worker.node]].gpu_type
                used[kind] = used.get(kind, 0) + requests[worker.role]
        return used

    def _supply(self) -> tuple[dict[GpuType, int], dict[GpuType, int]]:
        """All and free GPU thousandths per type, on nodes that take work."""
        total = dict.fromkeys(self._snapshot.setting.gpu_types, 0)
        free = dict(total)
        capacity = self._snapshot.capacity
        for number, nodes in capacity.shelves.items():
            state = capacity.states.states[number]
            hardware = capacity.states.hardware[state.hardware]
            if hardware.usable and hardware.gpu_type in total:
                free[hardware.gpu_type] += len(nodes) * (state.whole * 1000 + sum(state.partial))
        for node in self._snapshot.setting.tree.nodes:
            if node.gpu_type in total and node.state.takes_work:
                total[node.gpu_type] += node.gpus * 1000
        return total, free

    def _ends(self, kind: GpuType, *, likely: bool) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for job_id, demand in self._snapshot.demands.items():
            milli = dict(demand).get(kind, 0)
            if milli:
                found.append((self._end_ms(self._snapshot.running[job_id], likely=likely), milli))
        return found

    def _end_ms(self, job: RunningJob, *, likely: bool) -> int:
        """The end at the limit, or the expected end. Without a hint this is after half of what is left of the limit."""
        if job.leaving_by_ms is not None:
            return job.leaving_by_ms
        limit_ms = max(job.started_ms + self._snapshot.setting.limit_ms(job.spec), self._now_ms)
        if not likely:
            return limit_ms
        if job.spec.expected_duration_ms is not None:
            return min(limit_ms, max(job.started_ms + job.spec.expected_duration_ms, self._now_ms))
        return self._now_ms + (limit_ms - self._now_ms) // 2

    def early(self, gang: Gang, begins_ms: int) -> tuple[int | None, int | None]:
        """p50 and p90 of the start of a job that is not considered before a time, after all jobs in line."""
        demand = dict(gang.choices[0].demand) if gang.choices else {}
        kinds = [kind for kind in demand if kind != ANY_TYPE]
        if not gang.choices:
            return None, None
        p50 = [self._likely[kind].drink(demand[kind], is_considered=False) for kind in kinds]
        p90 = [self._late[kind].drink(demand[kind], is_considered=False) for kind in kinds]
        return max([begins_ms, *p50]), max([begins_ms, *p50, *p90])

    def estimate(self, job_id: JobId, gang: Gang) -> tuple[int | None, int | None]:
        """p50 and p90 of the start of the next job in line."""
        if not gang.choices:
            return None, None
        demand = gang.choices[0].demand
        kinds = [kind for kind, _ in demand if kind != ANY_TYPE]
        if not kinds and job_id not in self._promises:
            return None, None
        p50 = max((self._likely[kind].drink(dict(demand)[kind]) for kind in kinds), default=self._now_ms)
        p90 = max((self._late[kind].drink(dict(demand)[kind]) for kind in kinds), default=self._now_ms)
        promised = self._promises.get(job_id)
        if promised is not None:
            return min(p50, promised), promised
        return min(p50, p90), p90
