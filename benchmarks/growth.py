"""How the time of a replay grows with the number of jobs at one load: a JSON line per policy and round.

Run with `make bench`, or `python -m benchmarks.growth muster --rounds 8`. Jobs are drawn from the trace, with run times
cut to a day. They come at random, at a rate that keeps `--load` percent of the cluster busy. The same jobs come again
in every round, after a pause in which all jobs of the last round end. So every round has the same load, and the cost of
a job must not depend on how many rounds there were before. `n log n` would allow it to grow with `log n`.

A replay reports its progress two hundred times. So with eight rounds, the figures of a round may include up to 4 % of
the next.
"""

import argparse
import json
import random
import time
from collections.abc import Iterator

from benchmarks.replay import NODES, RESTART_COST_MS, TRACE
from muster.estimates.training import Habits
from muster.formats.traces.trace_file import read_trace
from muster.model.ids import JobId
from muster.model.node import ClusterSpec
from muster.model.records import evolve
from muster.model.resources import GPU_MILLI
from muster.model.trace import Trace, TraceJob
from muster.policies import find_policy
from muster.sim.outcome import JobOutcome
from muster.sim.replay import Circumstances, replay

LONGEST_MS = 24 * 3_600_000
JOBS = 10_000
SEED = 1


class Clock:
    """The processor time at which each number of jobs had ended."""

    def __init__(self) -> None:
        self._ended_s = [time.process_time()]

    def note(self, ended: int, _: int) -> None:
        """Note that this many jobs have ended by now."""
        self._ended_s += [time.process_time()] * (ended + 1 - len(self._ended_s))

    def between_s(self, first: int, last: int) -> float:
        """Processor time from the end of one job to the end of another."""
        return self._ended_s[last] - self._ended_s[first]


def main() -> None:
    """Replay the same jobs again and again, and print what each job costs in each round."""
    parser = argparse.ArgumentParser()
    parser.add_argument("policies", nargs="*", default=["fifo", "muster"])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--load", type=int, default=120, help="percent of the cluster that the jobs keep busy")
    asked = parser.parse_args()
    trace = at_load(read_trace(TRACE), asked.rounds, asked.load / 100)
    for name in asked.policies:
        clock = Clock()
        circumstances = Circumstances(habits=Habits(restart_cost_ms=RESTART_COST_MS))
        found = replay(trace, ClusterSpec(nodes=NODES), find_policy(name), circumstances, progress=clock.note)
        for first in range(0, len(trace.jobs), JOBS):
            last = first + JOBS
            figures = {
                "us_per_job": round(clock.between_s(first, last) * 1e6 / JOBS),
                "mean_wait_s": round(_mean_wait_s(found.outcomes[first:last])),
            }
            case = {"case": f"growth {name}", "load_percent": asked.load, "jobs": last}
            print(json.dumps({**case, **figures}), flush=True)


def at_load(trace: Trace, rounds: int, load: float) -> Trace:
    """Jobs drawn from a trace, at a rate that keeps a part of the cluster busy, repeated in each round."""
    known = [evolve(job, run_ms=min(job.run_ms, LONGEST_MS)) for job in trace.jobs]
    capacity_milli = sum(node.gpus for node in NODES) * GPU_MILLI
    mean_ms = sum(job.run_ms * job.gpu_milli for job in known) / len(known) / capacity_milli
    jobs = list(_drawn(known, mean_ms / load))
    round_ms = 2 * jobs[-1].submit_ms + 2 * LONGEST_MS
    again = (
        evolve(job, id=JobId(f"{number}-{job.id}"), submit_ms=job.submit_ms + number * round_ms)
        for number in range(rounds)
        for job in jobs
    )
    return evolve(trace, jobs=tuple(again))


def _drawn(known: list[TraceJob], gap_ms: float) -> Iterator[TraceJob]:
    draw, at_ms = random.Random(SEED), 0.0
    for number in range(JOBS):
        at_ms += draw.expovariate(1 / gap_ms)
        yield evolve(draw.choice(known), id=JobId(str(number)), submit_ms=int(at_ms))


def _mean_wait_s(outcomes: tuple[JobOutcome, ...]) -> float:
    waited_ms = [each.total_wait_ms for each in outcomes if each.total_wait_ms is not None]
    return sum(waited_ms) / len(waited_ms) / 1000


if __name__ == "__main__":
    main()
