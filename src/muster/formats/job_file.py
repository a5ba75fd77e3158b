"""A job file -> `JobSpec`, with every default applied and what concerns several keys at once checked.

A job in a scenario is only planned, never run, so there it may leave out its name, its command and where it saves
itself; a job file may not.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from muster.formats.document import Document, Problems, read_document
from muster.formats.job_wire import CheckpointWire, JobWire, ResourcesWire, RetryWire, RoleWire, TopologyWire
from muster.formats.units import plain_number
from muster.formats.wire import read_part
from muster.formats.yaml_text import Loc
from muster.model.ids import GpuType, LevelName, TeamPath, TierName
from muster.model.limits import GANG_WORKERS, ROLES_PER_JOB, TEAM_DEPTH
from muster.model.resources import GPU_MILLI, Request
from muster.model.spec import CheckpointSpec, Interactive, JobSpec, Parallelism, Retry, Role, TopologyWish

ONLY_ROLE = "worker"
"""What the role of a job without `roles` is called."""

_ROLE_NAME = re.compile(r"[a-z0-9_-]{1,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_job(source: str | Path, *, environment: Mapping[str, str] | None = None) -> JobSpec:
    """The job in a file. Variables that `env` leaves open are taken from `environment`."""
    return job_from_document(read_document(source), environment=environment)


def job_from_document(document: Document, *, environment: Mapping[str, str] | None = None) -> JobSpec:
    """The job in a document that is to be run: nothing it needs may be missing."""
    problems = Problems(document)
    wire = read_part(JobWire, document.value, problems, ())
    spec = None
    if wire is not None:
        _require_what_a_run_needs(wire, problems)
        spec = spec_from_wire(wire, problems, (), environment=environment)
    problems.stop_if_any()
    assert spec is not None  # A spec is missing only after a problem was noted.
    return spec


def spec_from_wire(
    wire: JobWire, problems: Problems, at: Loc, *, name: str = "", environment: Mapping[str, str] | None = None
) -> JobSpec | None:
    """The job as a value, or None after noting what is wrong with it.

    `name` is for jobs that have none. Without `environment`, variables that `env` leaves open are empty.
    """
    before = problems.count
    roles = _roles(wire, problems, at)
    _check_gang(roles, problems, at)
    _check_parallelism(wire, roles, problems, at)
    if wire.team.count("/") >= TEAM_DEPTH:
        problems.add((*at, "team"), f"more than {TEAM_DEPTH} levels of teams")
    if wire.workdir and not wire.workdir.startswith("/"):
        problems.add((*at, "workdir"), "not an absolute path", "it is looked up on the node, which does not know yours")
    env = _environment(wire.env, environment, problems, (*at, "env"))
    for place, secret in enumerate(wire.secrets):
        _check_variable(secret, problems, (*at, "secrets", place))
    if problems.count > before:
        return None
    return JobSpec(
        name=wire.name or name,
        team=TeamPath(wire.team),
        tier=TierName(wire.tier),
        roles=roles,
        priority=wire.priority,
        launch=wire.launch,
        setup=wire.setup,
        workdir=wire.workdir,
        interactive=None if wire.interactive is None else Interactive(idle_timeout_ms=wire.interactive.idle_timeout),
        env=env,
        secrets=tuple(wire.secrets),
        parallelism=Parallelism(tensor=wire.parallelism.tensor, pipeline=wire.parallelism.pipeline),
        topology=_topology(wire.topology),
        max_duration_ms=wire.max_duration,
        expected_duration_ms=wire.expected_duration,
        checkpoint=_checkpoint(wire.checkpoint),
        preemptible=wire.preemptible,
        retry=_retry(wire.retry),
        depends_on=tuple(wire.depends_on),
        array=wire.array,
        tags=tuple(sorted(wire.tags.items())),
    )


def _require_what_a_run_needs(wire: JobWire, problems: Problems) -> None:
    if not wire.name:
        problems.add(("name",), "is required and was not given")
    if wire.checkpoint is not None and not wire.checkpoint.path:
        problems.add(("checkpoint", "path"), "is required and was not given", "where the job saves itself")
    silent: list[Loc] = [("roles", role, "run") for role, each in wire.roles.items() if not each.run.strip()]
    if not wire.roles and not wire.run.strip():
        silent = [("run",)]
    for place in silent:
        problems.add(place, "is required and was not given", "the command that each worker runs")


def _roles(wire: JobWire, problems: Problems, at: Loc) -> tuple[Role, ...]:
    if not wire.roles:
        return (_role(ONLY_ROLE, wire),)
    for key in RoleWire.model_fields:
        if key in wire.model_fields_set:
            problems.add((*at, key), f"{key} and roles cannot both be given", "move it into a role")
    for role in wire.roles:
        if not _ROLE_NAME.fullmatch(role):
            problems.add((*at, "roles", role), "not a name for a role", "1 to 63 of a-z, 0-9, _ and -")
    return tuple(_role(role, each) for role, each in wire.roles.items())


def _role(name: str, wire: RoleWire) -> Role:
    lowest, highest = wire.workers
    return Role(name=name, workers_min=lowest, workers_max=highest, request=_request(wire.resources), run=wire.run)


def _request(wire: ResourcesWire) -> Request:
    return Request(
        gpu_milli=wire.gpus,
        gpu_types=tuple(GpuType(each) for each in wire.gpu_type),
        cpu_milli=wire.cpus,
        memory_bytes=wire.memory,
        disk_bytes=wire.disk,
        throughput=tuple((GpuType(each), speed) for each, speed in sorted(wire.throughput.items())),
    )


def _topology(wire: TopologyWire) -> TopologyWish:
    return TopologyWish(
        within=None if wire.within is None else LevelName(wire.within),
        prefer=None if wire.prefer is None else LevelName(wire.prefer),
        relax_after_ms=wire.relax_after,
    )


def _checkpoint(wire: CheckpointWire | None) -> CheckpointSpec | None:
    if wire is None:
        return None
    return CheckpointSpec(path=wire.path, every_ms=wire.every, keep=wire.keep, grace_ms=wire.grace)


def _retry(wire: RetryWire | None) -> Retry:
    return Retry() if wire is None else Retry(limit=wire.limit, on=tuple(dict.fromkeys(wire.on)))


def _check_gang(roles: tuple[Role, ...], problems: Problems, at: Loc) -> None:
    elastic = [role.name for role in roles if role.is_elastic]
    for name in elastic[1:]:
        problem = f"only one role may be elastic, and {elastic[0]!r} is already"
        problems.add((*at, "roles", name, "workers"), problem, "give one of them a fixed number")
    if len(roles) > ROLES_PER_JOB:
        problems.add((*at, "roles"), f"{len(roles)} roles are too many", f"at most {ROLES_PER_JOB}")
    if len(roles) > 1 and sum(role.workers_max for role in roles) > GANG_WORKERS:
        problems.add((*at, "roles"), "too many workers in all", f"at most {GANG_WORKERS}")


def _check_parallelism(wire: JobWire, roles: tuple[Role, ...], problems: Problems, at: Loc) -> None:
    """The model's parts must come out even on the gang at its smallest size."""
    tensor, pipeline = wire.parallelism.tensor, wire.parallelism.pipeline
    if tensor * pipeline == 1:
        return
    shared = next((role for role in roles if role.request.is_fractional), None)
    if shared is not None:
        problem = f"a model cannot be split over {plain_number(shared.request.gpu_milli)} of a GPU"
        problems.add((*at, "parallelism"), problem, "ask for whole GPUs, or leave parallelism out")
        return
    total = sum(role.workers_min * role.request.gpu_count for role in roles)
    if total == 0 or total % (tensor * pipeline):
        problem = f"tensor × pipeline = {tensor * pipeline} does not divide the {total} GPUs of the job"
        problems.add((*at, "parallelism"), problem, "data parallel is what is left, and must come out even")
    for role, place in _roles_with_places(wire, roles, at):
        gpus = role.request.gpu_milli // GPU_MILLI
        if gpus and tensor % gpus and gpus % tensor:
            problem = f"tensor groups of {tensor} do not come out even on workers with {gpus} GPUs"
            problems.add((*place, "gpus"), problem, "one must divide the other")


def _roles_with_places(wire: JobWire, roles: tuple[Role, ...], at: Loc) -> Iterator[tuple[Role, Loc]]:
    for role in roles:
        yield role, (*at, "roles", role.name, "resources") if wire.roles else (*at, "resources")


def _environment(
    wanted: Mapping[str, str | None], given: Mapping[str, str] | None, problems: Problems, at: Loc
) -> tuple[tuple[str, str], ...]:
    filled = {}
    for key, value in sorted(wanted.items()):
        _check_variable(key, problems, (*at, key))
        if value is None and given is not None and key not in given:
            problems.add((*at, key), "has no value, and the environment has none either", f"export {key}=… first")
        filled[key] = value if value is not None else (given or {}).get(key, "")
    return tuple(filled.items())


def _check_variable(name: str, problems: Problems, at: Loc) -> None:
    if not _VARIABLE.fullmatch(name):
        problems.add(at, "not the name of an environment variable", "letters, digits and _, not a digit first")
