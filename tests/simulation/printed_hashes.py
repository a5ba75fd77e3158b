"""Prints the hashes of a few replays; run in processes of their own to see whether anything depends on the process."""

import sys
from pathlib import Path

from muster.formats.rules.cluster_file import cluster_from_text
from muster.formats.traces.trace_file import read_trace
from muster.model.records import evolve
from muster.policies import find_policy
from muster.sim.faults import fault_rates
from muster.sim.replay import Circumstances, replay
from muster.sim.synthesis import with_made_up

DATA = Path(__file__).parents[1] / "data"
FAULTS = "mtbf=5d,repair=4h,rack=0.2,gpu=100d,straggler=5d,crash=0.1,cancel=0.1"
JOBS = 150


def hashes() -> list[str]:
    """One hash for each policy, with every kind of fault."""
    whole = read_trace(DATA / "muri_trace3.csv.gz")
    trace = with_made_up(evolve(whole, jobs=whole.jobs[:JOBS]), seed=1)
    given = Circumstances(faults=fault_rates(FAULTS), seed=1)
    names = ("fifo", "greedy", "easy", "sjf-oracle", "fair", "muster", "srsf-oracle", "las")
    return [replay(trace, cluster_from_text("8x8"), find_policy(name), given).log_hash for name in names]


if __name__ == "__main__":
    sys.stdout.write("\n".join(hashes()))
