"""A script with its options -> the job that is sent to the server, with what the server has to be asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muster.cli.commands.job_reading import Overrides, ReadJob, script_job, this_submitter
from muster.client.client import Client
from muster.formats.sbatch.options import Option, take_apart
from muster.formats.sbatch.sbatch_file import Imported, import_sbatch, variable_options
from muster.model.errors import MusterError

TIER_OF = "MUSTER_TIER_OF"
"""A variable that says which tier stands for a partition or a QOS: `gpu=standard,urgent=production`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A job that can be sent."""

    document: dict[str, Any]
    held: bool
    notes: tuple[str, ...]


def prepared(
    client: Client,
    script: str,
    *,
    file: str,
    options: Sequence[Option],
    arguments: Sequence[str] = (),
    interactive: Mapping[str, str] | None = None,
    output: str | None = None,
) -> Prepared:
    """The job that a script describes. Raises `InvalidDocument`.

    `output` is the file that it prints to in the place of any other, and `interactive` gives it a terminal.
    """
    submitter = this_submitter()
    given = {option.name for option in (*take_apart(script).options, *variable_options(submitter.variables), *options)}
    imported = import_sbatch(
        script,
        file=file,
        tiers=_tiers(client, submitter.variables) if given & {"partition", "qos"} else {},
        options=options,
        arguments=arguments,
        submitter=submitter,
    )
    if output is not None:
        imported.job["batch"]["output"] = output
    if interactive is not None:
        imported.job["interactive"] = dict(interactive)
    job = script_job(imported, Overrides())
    notes = list(job.notes)
    document = _with_known_type(client, _with_singleton(client, imported, job), notes)
    return Prepared(document=document, held=job.held, notes=tuple(notes))


def _tiers(client: Client, variables: Mapping[str, str]) -> dict[str, str]:
    """Which tier stands for a partition or a QOS: tiers of that name, and what `MUSTER_TIER_OF` says."""
    tiers = client.tiers()
    listed = tiers.get("tiers", ()) if isinstance(tiers, dict) else tiers
    named = {str(each["name"]): str(each["name"]) for each in listed}
    pairs = [each.partition("=") for each in variables.get(TIER_OF, "").split(",") if "=" in each]
    return {**named, **{name: tier for name, _, tier in pairs}}


def _with_singleton(client: Client, script: Imported, job: ReadJob) -> dict[str, Any]:
    """The job, which waits for all jobs of its name and user if it is to be the only one."""
    if not script.is_singleton:
        return job.document
    mine = client.whoami().name
    active = client.jobs(state="active", name=job.document["name"], user=mine)
    others = [{"job": each.id, "when": "finished"} for each in active if each.array is None]
    return {**job.document, "depends_on": [*job.document.get("depends_on", ()), *others]}


def _with_known_type(client: Client, document: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """The job without its type of GPU, where no GPU has a type: virtual nodes stand for any GPUs."""
    resources = document.get("resources", {})
    if "gpu_type" not in resources:
        return document
    try:
        types = {node.gpu_type for node in client.nodes() if node.gpus}
    except MusterError:  # a job may submit and need not see all nodes
        return document
    if types - {"", None} or not types:
        return document
    notes.append(f"GPUs have no type here, so {resources['gpu_type']} means any of them")
    return {**document, "resources": {key: value for key, value in resources.items() if key != "gpu_type"}}
