"""A job file -> `JobSpec`, with every default applied, and with checks across several keys.

A job in a scenario is only planned, never run. So there it may leave out its name, its command and its checkpoint path.
A job file may not.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter

from muster.formats.jobs.job_wire import GivenJob, JobWire, RoleWire
from muster.formats.parts.parts import Given
from muster.formats.parts.wire import read_by
from muster.formats.text.document import Document, Problems, read_document
from muster.formats.text.units import plain_number
from muster.formats.text.yaml_text import Loc
from muster.model.limits import GANG_WORKERS, ROLES_PER_JOB, TEAM_DEPTH
from muster.model.resources import GPU_MILLI
from muster.model.spec import JobSpec, Launch, RoleSpec

ONLY_ROLE = "worker"
"""The name of the role of a job without `roles`."""

NOT_IN_CONTAINERS = (Launch.MPI, Launch.RAY, Launch.SLURM)
"""Launchers that run programs of Muster beside the workers, with the Python of the node."""

Pairs = tuple[tuple[str, str | None], ...]

_ROLE_NAME = re.compile(r"[a-z0-9_-]{1,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_validated = TypeAdapter[Given](GivenJob).validate_python


def read_job(source: str | Path, *, environment: Mapping[str, str] | None = None) -> JobSpec:
    """The job in a file. Variables that `env` leaves open are taken from `environment`."""
    return job_from_document(read_document(source), environment=environment)


def job_from_document(document: Document, *, environment: Mapping[str, str] | None = None) -> JobSpec:
    """The job in a document that is to be run: nothing it needs may be missing."""
    problems = Problems(document)
    given = read_by(_validated, JobWire, document.value, problems, ())
    spec = None
    if given is not None:
        _require_what_a_run_needs(given, problems)
        spec = spec_from_given(given, problems, (), environment=environment)
    problems.stop_if_any()
    assert spec is not None  # A spec is missing only after a problem was noted.
    return spec


def check_keys(value: object, problems: Problems, at: Loc) -> None:
    """Note what is wrong with some keys of a job file by themselves: unknown keys, and values of the wrong kind."""
    read_by(_validated, JobWire, value, problems, at)


def spec_from_given(
    given: Given, problems: Problems, at: Loc, *, name: str = "", environment: Mapping[str, str] | None = None
) -> JobSpec | None:
    """The job as a value, or None after noting what is wrong with it.

    `name` is for jobs that have none. Without `environment`, variables that `env` leaves open are empty.
    """
    before = problems.count
    fields = JobWire.fields(given)
    if not fields["roles"]:
        fields["roles"] = (RoleWire.named(ONLY_ROLE, given),)
    env: Pairs = fields.get("env", ())
    fields["env"] = _filled(env, environment)
    fields["name"] = fields["name"] or name
    spec = JobSpec(**fields)
    _check_roles(given, problems, at)
    _check_gang(spec.roles, problems, at)
    _check_parallelism(spec, given, problems, at)
    _check_layout(spec, problems, at)
    _check_words(spec, problems, at)
    _check_container(spec, problems, at)
    _check_input(spec, problems, at)
    _check_variables(spec, env, environment, problems, at)
    return spec if problems.count == before else None


def _require_what_a_run_needs(given: Given, problems: Problems) -> None:
    if not given.get("name"):
        problems.add(("name",), "is required and was not given")
    checkpoint, roles = given.get("checkpoint"), given.get("roles")
    if checkpoint is not None and not checkpoint.path:
        problems.add(("checkpoint", "path"), "is required and was not given", "where the job saves itself")
    silent: list[Loc] = [("roles", role, "run") for role, each in (roles or {}).items() if _is_silent(each)]
    if not roles and _is_silent(given):
        silent = [("run",)]
    for place in silent:
        problems.add(place, "is required and was not given", "the command that each worker runs")


def _is_silent(role: Given) -> bool:
    return not role.get("run", "").strip()


def _filled(env: Pairs, environment: Mapping[str, str] | None) -> Pairs:
    """The variables, with values from the environment for those that were left open."""
    known = environment or {}
    return tuple([(key, known.get(key, "")) if value is None else (key, value) for key, value in env])


def _check_roles(given: Given, problems: Problems, at: Loc) -> None:
    if not given.get("roles"):
        return
    for key in RoleWire.keys:
        if key in given:
            problems.add((*at, key), f"{key} and roles cannot both be given", "move it into a role")
    for role in given["roles"]:
        if not _ROLE_NAME.fullmatch(role):
            problems.add((*at, "roles", role), "not a name for a role", "1 to 63 of a-z, 0-9, _ and -")


def _check_gang(roles: tuple[RoleSpec, ...], problems: Problems, at: Loc) -> None:
    elastic = [role.name for role in roles if role.is_elastic]
    for name in elastic[1:]:
        problem = f"only one role may be elastic, and {elastic[0]!r} is already"
        problems.add((*at, "roles", name, "workers"), problem, "give one of them a fixed number")
    if len(roles) > ROLES_PER_JOB:
        problems.add((*at, "roles"), f"{len(roles)} roles are too many", f"at most {ROLES_PER_JOB}")
    if len(roles) > 1 and sum(role.workers_max for role in roles) > GANG_WORKERS:
        problems.add((*at, "roles"), "too many workers in all", f"at most {GANG_WORKERS}")


def _check_parallelism(spec: JobSpec, given: Given, problems: Problems, at: Loc) -> None:
    """The parts of the model must divide evenly over the gang at its smallest size."""
    tensor, pipeline = spec.parallelism.tensor, spec.parallelism.pipeline
    if tensor * pipeline == 1:
        return
    shared = next((role for role in spec.roles if role.request.is_fractional), None)
    if shared is not None:
        problem = f"a model cannot be split over {plain_number(shared.request.gpu_milli)} of a GPU"
        problems.add((*at, "parallelism"), problem, "ask for whole GPUs, or leave parallelism out")
        return
    total = sum(role.workers_min * role.request.gpu_count for role in spec.roles)
    if total == 0 or total % (tensor * pipeline):
        problem = f"tensor × pipeline = {tensor * pipeline} does not divide the {total} GPUs of the job"
        problems.add((*at, "parallelism"), problem, "data parallel is what is left, and must come out even")
    for role in spec.roles:
        gpus = role.request.gpu_milli // GPU_MILLI
        if gpus and tensor % gpus and gpus % tensor:
            problem = f"tensor groups of {tensor} do not come out even on workers with {gpus} GPUs"
            place = ("roles", role.name) if given.get("roles") else ()
            problems.add((*at, *place, "resources", "gpus"), problem, "one must divide the other")


def _check_layout(spec: JobSpec, problems: Problems, at: Loc) -> None:
    """A batch script knows one kind of worker, and as many workers as it began with. So do workers that keep apart."""
    for key, is_asked in (("launch", spec.launch is Launch.SLURM), ("topology", spec.topology.spread)):
        if is_asked and (len(spec.roles) > 1 or spec.elastic_role is not None):
            what = "launch: slurm" if key == "launch" else "spread"
            problems.add((*at, key), f"{what} needs one role with a fixed number of workers")


def _check_words(spec: JobSpec, problems: Problems, at: Loc) -> None:
    if spec.team.count("/") >= TEAM_DEPTH:
        problems.add((*at, "team"), f"more than {TEAM_DEPTH} levels of teams")
    if spec.workdir.startswith("~"):
        problems.add((*at, "workdir"), "~ is not looked up", "write the absolute path on the nodes, or a relative one")
    if spec.bundle is not None and not spec.is_workdir_copied:
        problems.add((*at, "bundle"), "is the copy of a relative workdir, and this one is absolute", "leave it out")
    path = "/" if spec.checkpoint is None else spec.checkpoint.path
    if spec.is_workdir_copied and path and not path.startswith("/") and "://" not in path:
        problem = "is relative to a workdir whose copy is removed when the job ends"
        problems.add((*at, "checkpoint", "path"), problem, "an absolute path, or an address such as s3://bucket/run")


def _check_container(spec: JobSpec, problems: Problems, at: Loc) -> None:
    if spec.mounts and not spec.image:
        problem = "say what a container sees of its node, and this job has no image"
        problems.add((*at, "mounts"), problem, "without one, a job sees all of the node")
    if spec.image and spec.launch in NOT_IN_CONTAINERS:
        problem = f"launch: {spec.launch} starts programs of the node beside those of the job"
        problems.add((*at, "image"), f"{problem}, which no image has", "launch: plain, torchrun, torchft or jax")
    targets = [each.target for each in spec.mounts]
    for place, target in enumerate(targets):
        if target in targets[:place]:
            problems.add((*at, "mounts", place), f"something is at {target} already", "each needs a place of its own")
    path = "" if spec.checkpoint is None else spec.checkpoint.path.removeprefix("file://")
    for place, each in enumerate(spec.mounts):
        if each.source != each.target and f"{path}/".startswith(f"{each.target}/"):
            problem = (
                f"checkpoint.path is in {each.target}, which is {each.source} for the node that copies checkpoints"
            )
            problems.add((*at, "mounts", place), problem, "mount it at its own path")


def _check_input(spec: JobSpec, problems: Problems, at: Loc) -> None:
    if spec.stdin and (spec.interactive is not None or spec.array is not None):
        what = (
            "on a terminal reads what is typed there" if spec.array is None else "with an array has many first workers"
        )
        problems.add((*at, "stdin"), f"a job {what}", "leave stdin out")


def _check_variables(
    spec: JobSpec, env: Pairs, environment: Mapping[str, str] | None, problems: Problems, at: Loc
) -> None:
    for key, value in env:
        _check_variable(key, problems, (*at, "env", key))
        if value is None and environment is not None and key not in environment:
            problem = "has no value, and the environment has none either"
            problems.add((*at, "env", key), problem, f"export {key}=… first")
    for place, secret in enumerate(spec.secrets):
        _check_variable(secret, problems, (*at, "secrets", place))


def _check_variable(name: str, problems: Problems, at: Loc) -> None:
    if not _VARIABLE.fullmatch(name):
        problems.add(at, "not the name of an environment variable", "letters, digits and _, not a digit first")
