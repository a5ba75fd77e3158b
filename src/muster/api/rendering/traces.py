"""Jobs as a trace has them."""

from muster.core.order.run_times import run_ms
from muster.model.job import Job
from muster.model.resources import GPU_MILLI
from muster.model.trace import TraceJob


def has_run_on_gpus(job: Job) -> bool:
    """True for a job that a trace can hold: it is about GPUs, and about jobs that have run."""
    return job.spec.gang_gpu_milli > 0 and run_ms(job.spec, job.attained_gpu_ms) > 0


def trace_job(job: Job, begin_ms: int) -> TraceJob:
    """A job, on a clock that begins then."""
    spec = job.spec
    return TraceJob(
        id=job.id,
        submit_ms=job.submitted_ms - begin_ms,
        run_ms=run_ms(spec, job.attained_gpu_ms),
        gpu_milli=_as_a_trace_says(spec.gang_gpu_milli),
        team=spec.team,
        user=job.user,
        name=spec.name,
        tier=spec.tier,
        priority=spec.priority,
        gpu_types=spec.roles[0].request.gpu_types,
        cpu_milli=sum(role.workers_min * role.request.cpu_milli for role in spec.roles),
        memory_bytes=sum(role.workers_min * role.request.memory_bytes for role in spec.roles),
        max_duration_ms=spec.max_duration_ms,
        status=job.state.value,
    )


def _as_a_trace_says(gpu_milli: int) -> int:
    """A trace has one number for a gang: up to one GPU as it is, and more than one rounded up to whole GPUs."""
    return gpu_milli if gpu_milli <= GPU_MILLI else -(-gpu_milli // GPU_MILLI) * GPU_MILLI
