"""Reads pickled scenarios, prints their plans: run in processes of its own, each with another hash seed."""

import pickle
import sys

from muster.core.cluster.setting import Setting
from muster.core.order import queueing
from muster.model.job import WaitingJob
from tests.property.checks import planned


def by_hash(job: WaitingJob, setting: Setting) -> queueing.OrderKey:
    """A planted bug: an order that differs from process to process."""
    return (hash(job.id), 0, 0, job.id, job.id)


def main() -> None:
    """Print one plan a line."""
    if "--ordered-by-hash" in sys.argv:
        queueing.order_key = by_hash
    for scenario in pickle.load(sys.stdin.buffer):
        sys.stdout.write(f"{planned(scenario)!r}\n")


if __name__ == "__main__":
    main()
