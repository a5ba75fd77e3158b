"""What a waiting job is told would start it now does start it."""

import re

from muster.core.offline import decide, decide_in_full
from muster.model.job import WaitingJob
from muster.model.records import evolve
from muster.model.resources import GPU_MILLI
from tests.property.situations import a_situation

SITUATIONS = 150


def changed(job: WaitingJob, change: str) -> WaitingJob:
    """The job with the size that the change names."""
    role = job.spec.roles[0]
    workers, gpus = re.match(r"with (\d+) workers?", change), re.match(r"with (\d+) GPUs? for each worker", change)
    if workers is not None:
        role = evolve(role, workers_min=int(workers[1]), workers_max=int(workers[1]))
    else:
        assert gpus is not None, change
        role = evolve(role, request=evolve(role.request, gpu_milli=int(gpus[1]) * GPU_MILLI))
    return evolve(job, spec=evolve(job.spec, roles=(role,)))


def test_every_size_that_is_said_to_start_a_job_now_starts_it() -> None:
    tried = 0
    for seed in range(SITUATIONS):
        scenario = a_situation(seed)
        jobs = {job.id: job for job in scenario.waiting}
        for told in decide_in_full(scenario).explanations:
            for change in told.starts_if:
                smaller = changed(jobs[told.job], change)
                waiting = tuple(smaller if job.id == told.job else job for job in scenario.waiting)
                starts = [start.job for start in decide(evolve(scenario, waiting=waiting)).plan.starts]
                assert told.job in starts, f"situation {seed}: {told.job} does not start {change}"
                tried += 1
    assert tried > 20
