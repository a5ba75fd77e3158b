"""A script with its options -> the job that is sent to the server, with what the server has to be asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muster.cli.commands.job_reading import Overrides, ReadJob, script_job, this_submitter
from muster.client.client import Client
from muster.formats.jobs.job_values import NODES_NAMED
from muster.formats.sbatch.options import Option, take_apart
from muster.formats.sbatch.sbatch_file import Imported, import_sbatch, variable_options
from muster.model.errors import MusterError
from muster.model.spec import DEFAULT_TIER
from muster.slurm.options import SlurmError

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
    nodes = _nodes_of_pools(client) if "partition" in given else None
    imported = import_sbatch(
        script,
        file=file,
        pools=nodes,
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
    if nodes is not None:
        _pin(client, job.document, nodes)
    document = _with_known_type(client, _with_singleton(client, imported, job), notes)
    return Prepared(document=document, held=job.held, notes=tuple(notes))


def _nodes_of_pools(client: Client) -> dict[str, list[str]] | None:
    """The names of the nodes of each pool; None for a caller that may not see nodes, such as a job that submits."""
    found: dict[str, list[str]] = {}
    try:
        for node in client.nodes():
            found.setdefault(node.pool, []).append(node.name)
    except MusterError:
        return None
    return found


def tiers_of(pools: Any, name: str) -> list[str]:
    """The tiers that a pool takes, from the list of all pools as the server has it; empty when it takes every tier."""
    listed: list[dict[str, Any]] = pools.get("pools", []) if isinstance(pools, dict) else pools
    return [str(tier) for each in listed if each["name"] == name for tier in each.get("tiers", ())]


def _pin(client: Client, document: dict[str, Any], nodes: Mapping[str, Sequence[str]]) -> None:
    """Let the job use only nodes of the pools that its partitions name, if there are others.

    A job file has no key for pools, so that it names their nodes. Raises `SlurmError` where those that it names itself
    are in other pools, or where there are too many to name.
    """
    partition = document["env"]["SLURM_JOB_PARTITION"]
    pools = [part for part in partition.split(",") if part in nodes]
    if not pools or len(pools) == len(nodes):
        return
    known, tier = client.pools(), str(document.get("tier", DEFAULT_TIER))
    taken = [tiers_of(known, pool) for pool in pools]
    if all(taken) and not any(tier in each for each in taken):
        qos = " or ".join(dict.fromkeys(f"--qos={each}" for tiers in taken for each in tiers))
        raise SlurmError(f"Invalid qos specification: partition {partition} does not take {tier}; add {qos}")
    members = [name for pool in pools for name in nodes[pool]]
    wanted = list(document.get("nodelist", ()))
    if outside := [name for name in wanted if name not in members]:
        raise SlurmError(f"Requested node configuration is not available: {outside[0]} is not in partition {partition}")
    if not wanted and len(members) > NODES_NAMED:
        raise SlurmError(
            f"partition {partition} has {len(members)} nodes, and a job can name {NODES_NAMED}: give them a label and "
            "use --constraint"
        )
    document["nodelist"] = wanted or members


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
    kinds = resources["gpu_type"]
    named = kinds if isinstance(kinds, str) else " or ".join(kinds)
    notes.append(f"GPUs have no type here, so {named} means any of them")
    return {**document, "resources": {key: value for key, value in resources.items() if key != "gpu_type"}}
