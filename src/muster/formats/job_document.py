"""`JobSpec` -> a job file as plain values: the inverse of `job_file`.

What equals its default is left out, so the document reads like one a person wrote, and reading it again gives the
same value.
"""

from muster.formats.job_file import ONLY_ROLE
from muster.formats.ranges import array_text, worker_range_value
from muster.formats.units import duration_text, memory_value, plain_number
from muster.model.resources import Request
from muster.model.spec import (
    DEFAULT_TEAM,
    DEFAULT_TIER,
    CheckpointSpec,
    Dependency,
    DependencyWhen,
    JobSpec,
    Launch,
    Parallelism,
    Retry,
    Role,
    TopologyWish,
)

Mapping = dict[str, object]


def job_document(spec: JobSpec) -> Mapping:
    """The job as a file would say it, in the order of the manual."""
    only = spec.roles[0] if [role.name for role in spec.roles] == [ONLY_ROLE] else None
    return {
        "name": spec.name,
        **_unless(DEFAULT_TEAM, team=spec.team),
        **_unless(DEFAULT_TIER, tier=spec.tier),
        **_unless(50, priority=spec.priority),
        **(_role(only) if only else {"roles": {role.name: _role(role) for role in spec.roles}}),
        **_unless(Launch.PLAIN, launch=spec.launch.value),
        **_unless("", setup=spec.setup),
        **_unless({}, env=dict(spec.env)),
        **_unless([], secrets=list(spec.secrets)),
        **_unless({}, parallelism=_parallelism(spec.parallelism)),
        **_unless({}, topology=_topology(spec.topology)),
        **_duration("max_duration", spec.max_duration_ms),
        **_duration("expected_duration", spec.expected_duration_ms),
        **({} if spec.checkpoint is None else {"checkpoint": _checkpoint(spec.checkpoint)}),
        **_unless(True, preemptible=spec.preemptible),
        **_unless({}, retry=_retry(spec.retry)),
        **_unless([], depends_on=[_dependency(each) for each in spec.depends_on]),
        **({} if spec.array is None else {"array": array_text(spec.array)}),
        **_unless({}, tags=dict(spec.tags)),
    }


def _unless(default: object, **entry: object) -> Mapping:
    """The entry, or nothing when it says only what would hold anyway."""
    return {key: value for key, value in entry.items() if value != default}


def _duration(key: str, duration_ms: int | None) -> Mapping:
    return {} if duration_ms is None else {key: duration_text(duration_ms)}


def _role(role: Role) -> Mapping:
    workers = worker_range_value(role.workers_min, role.workers_max)
    return {"workers": workers, **_unless({}, resources=_resources(role.request)), **_unless("", run=role.run)}


def _resources(request: Request) -> Mapping:
    return {
        **_unless(0, gpus=plain_number(request.gpu_milli)),
        **_unless([], gpu_type=list(request.gpu_types)),
        **_unless(0, cpus=plain_number(request.cpu_milli)),
        **_unless(0, memory=memory_value(request.memory_bytes)),
        **_unless(0, disk=memory_value(request.disk_bytes)),
        **_unless({}, throughput={gpu_type: plain_number(speed) for gpu_type, speed in request.throughput}),
    }


def _parallelism(parallelism: Parallelism) -> Mapping:
    return {**_unless(1, tensor=parallelism.tensor), **_unless(1, pipeline=parallelism.pipeline)}


def _topology(wish: TopologyWish) -> Mapping:
    return {
        **_unless(None, within=wish.within),
        **_unless(None, prefer=wish.prefer),
        **_unless("0s", relax_after=duration_text(wish.relax_after_ms)),
    }


def _checkpoint(checkpoint: CheckpointSpec) -> Mapping:
    return {
        "path": checkpoint.path,
        **_duration("every", checkpoint.every_ms),
        **_unless(3, keep=checkpoint.keep),
        **_unless("2m", grace=duration_text(checkpoint.grace_ms)),
    }


def _retry(retry: Retry) -> Mapping:
    on = [cause.value for cause in retry.on]
    return {**_unless(0, limit=retry.limit), **_unless([cause.value for cause in Retry().on], on=on)}


def _dependency(each: Dependency) -> object:
    return {"job": each.job, "when": each.when.value} if each.when != DependencyWhen.SUCCEEDED else each.job
