"""What knowing the speed of GPU types is worth: one JSON line per case, and one with the ratio.

The Gavel trace (OSDI '20) says how long each job runs on a V100, a P100 and a K80. It is replayed twice under the
policy of the live system: once the scheduler is told these speeds, and once it is not. Jobs come several times as fast
as in the trace, so that they compete for the fast GPUs.

The trace is not part of this repository. Give its folder as the first argument or in MUSTER_TRACES. A second argument
is the number of jobs to replay. A third says how many times as fast they come.
"""

import json
import os
import sys
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

from muster.formats.rules.cluster_file import read_cluster
from muster.formats.traces.trace_file import read_trace
from muster.model.node import ClusterSpec
from muster.model.records import evolve
from muster.model.resources import GPU_MILLI
from muster.model.trace import Trace
from muster.policies import find_policy
from muster.sim.measures import measures
from muster.sim.outcome import Replay
from muster.sim.replay import Circumstances, replay
from muster.sim.variation import scaled_arrivals

TRACE = "gavel_philly_hetero"
ARRIVALS = Decimal(2)
"""How many times as fast as in the trace jobs come. On average they then wait for more GPUs than there are."""
MISSING = 2


def measure(trace: Trace, cluster: ClusterSpec, *, knows_speeds: bool) -> dict[str, object]:
    """Replay the trace, with or without telling the scheduler the speeds."""
    replayed = replay(trace, cluster, find_policy("muster"), Circumstances(knows_speeds=knows_speeds))
    found = measures(replayed)
    return {
        "case": "heterogeneous, type-aware" if knows_speeds else "heterogeneous, type-blind",
        "jobs": found["jobs"],
        "finished": found["finished"],
        "mean_jct_s": found["jct_s"]["mean"],
        "p50_jct_s": found["jct_s"]["p50"],
        "utilisation": found["utilisation"],
        "waiting_gpus": waiting_gpus(replayed),
        "preemptions_per_job": found["preemptions_per_job"],
        "cpu_s": found["cpu_s"],
    }


def waiting_gpus(replayed: Replay) -> int:
    """How many GPUs jobs waited for on average until the last submission. It shows if queues form at this load."""
    last_ms = max(outcome.job.submit_ms for outcome in replayed.outcomes)
    waited, spans = 0, pairwise(sample for sample in replayed.samples if sample.at_ms <= last_ms)
    for sample, following in spans:
        waited += sample.waiting_milli * (following.at_ms - sample.at_ms)
    return waited // (GPU_MILLI * max(last_ms - replayed.samples[0].at_ms, 1))


def ratio(trace: Trace, cluster: ClusterSpec) -> float:
    """How many times as long jobs take when the scheduler does not know the speeds. Prints both cases."""
    means: list[float] = []
    for knows_speeds in (True, False):
        figures = measure(trace, cluster, knows_speeds=knows_speeds)
        sys.stdout.write(json.dumps(figures) + "\n")
        sys.stdout.flush()
        means.append(float(str(figures["mean_jct_s"])))
    return means[1] / means[0]


def main(arguments: Sequence[str]) -> None:
    """Replay the trace twice and compare."""
    named = arguments[0] if arguments else os.environ.get("MUSTER_TRACES", "")
    path = Path(named) / f"{TRACE}.csv.gz"
    if not named or not path.is_file():
        sys.stderr.write(
            f"{path.name} is not in {named or 'any folder named'}: it is not part of this repository. "
            "Give its folder as an argument or in MUSTER_TRACES.\n"
        )
        raise SystemExit(MISSING)
    trace = read_trace(path)
    if len(arguments) > 1:
        trace = evolve(trace, jobs=trace.jobs[: int(arguments[1])])
    arrivals = Decimal(arguments[2]) if len(arguments) > 2 else ARRIVALS
    found = ratio(scaled_arrivals(trace, arrivals), read_cluster(path.with_name(f"{TRACE}.cluster.json")))
    answer = {"case": "heterogeneous, blind over aware", "arrivals": str(arrivals), "ratio": round(found, 3)}
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
