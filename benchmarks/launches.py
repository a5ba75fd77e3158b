"""Starts workers inside one process, as a supervisor does, and prints how long each took in milliseconds."""

import os
import sys
import time
from pathlib import Path

from muster.model.ids import JobId, NodeName, TeamPath, TierName
from muster.model.instructions import StartWorkers
from muster.model.job import Worker
from muster.model.node_limits import WORKER_PROCESSES
from muster.model.resources import Request
from muster.model.spec import JobSpec, RoleSpec
from muster.worker.launch.launch_spec import Meeting, NodeContext
from muster.worker.launch.runtime_folder import give_back, runtime_folder
from muster.worker.loop import Loop
from muster.worker.messages import command, encoded, line, parsed
from muster.worker.processes.cgroups import find_cgroup_root
from muster.worker.records.journal import Journal
from muster.worker.worker_pool import WorkerPool

GANG = (Worker(rank=0, role="worker", node=NodeName("n1")),)
SPEC = JobSpec(
    name="true",
    team=TeamPath("bench"),
    tier=TierName("standard"),
    roles=(RoleSpec(name="worker", workers_min=1, workers_max=1, request=Request(), run="true"),),
)


def main(home: Path, count: int) -> None:
    """Start `count` workers one after another."""
    (home / "nodes" / "n1").mkdir(parents=True)
    cgroup_root = find_cgroup_root(f"muster-bench-{os.getpid()}")
    premises = NodeContext(
        home=home,
        workers=runtime_folder(home) / "n1",
        node=NodeName("n1"),
        cgroup_root=cgroup_root,
        processes_max=WORKER_PROCESSES,
        variables=dict(os.environ),
    )
    journal = Journal(home / "journal")
    crew = WorkerPool(premises, journal, Loop(settle=journal.flush), is_away=lambda: False)
    for number in range(count):
        start = StartWorkers(job=JobId(f"job-{number}"), attempt=1, generation=1, spec=SPEC, workers=GANG, gang=GANG)
        text = line(encoded(start))
        begun = time.perf_counter()
        crew.obey(command(parsed(text)), Meeting())
        print((time.perf_counter() - begun) * 1000)
        while not crew.is_empty:
            crew.reap()
            time.sleep(0.001)
        journal.flush()  # as after every round, so that syncing an exit is not part of the next start
    cgroup_root.remove()
    give_back(premises.workers)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
