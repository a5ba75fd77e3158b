"""How long a replay of four weeks takes: one JSON line per policy. Run with `make bench`.

Or run `python -m benchmarks.replay fifo muster --jobs 46070`: in `.venv` as plain Python, in `.venv-compiled` as it is
installed. The hash of the log is the same in both.
"""

import argparse
import json
import time
from pathlib import Path

from muster.estimates.training import Habits
from muster.formats.traces.trace_file import read_trace
from muster.model.compiling import is_compiled
from muster.model.ids import GpuType, NodeName
from muster.model.node import ClusterSpec, Node
from muster.model.records import evolve
from muster.policies import find_policy
from muster.sim.replay import Circumstances, replay

TRACE = Path(__file__).resolve().parent.parent / "tests" / "data" / "philly_4w_600gpu.csv.gz"
NODES = tuple(Node(name=NodeName(f"n{number}"), gpus=8, gpu_type=GpuType("gpu")) for number in range(1, 76))
RESTART_COST_MS = 30_000


def main() -> None:
    """Replay the first jobs of the trace with each policy."""
    parser = argparse.ArgumentParser()
    parser.add_argument("policies", nargs="*", default=["fifo", "muster"])
    parser.add_argument("--jobs", type=int, default=46_070)
    asked = parser.parse_args()
    trace = read_trace(TRACE)
    trace = evolve(trace, jobs=trace.jobs[: asked.jobs])
    circumstances = Circumstances(habits=Habits(restart_cost_ms=RESTART_COST_MS))
    for name in asked.policies:
        before_s = time.process_time()
        found = replay(trace, ClusterSpec(nodes=NODES), find_policy(name), circumstances)
        figures = {
            "cpu_s": round(time.process_time() - before_s, 2),
            "cycles": found.cycles,
            "hash": found.log_hash[:12],
        }
        print(
            json.dumps({"case": f"replay {name}", "jobs": asked.jobs, "compiled": is_compiled(), **figures}), flush=True
        )


if __name__ == "__main__":
    main()
