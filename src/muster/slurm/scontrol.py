"""`scontrol`: shows jobs, nodes, partitions and the configuration, and changes jobs."""

import os
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence

from muster.client import Client
from muster.model.errors import MusterError, NotFound
from muster.slurm.asking import INVALID, Cluster, is_forgotten, read_references
from muster.slurm.options import VERSION, Parser, SlurmError, complain, connected, show_lines, words
from muster.slurm.showing.configuration import config_lines
from muster.slurm.showing.documents import nodes_document, queue_document, written
from muster.slurm.showing.durations import read_duration
from muster.slurm.showing.host_lists import compressed, expanded
from muster.slurm.showing.job_rows import JobRow
from muster.slurm.showing.node_rows import NodeRow, node_rows
from muster.slurm.showing.record_texts import job_text, node_text, partition_text
from muster.slurm.showing.script_fields import is_batch
from muster.slurm.submitting import tiers_of

NEED_JOB = "scontrol: error: a job id is needed"

_WORK = re.compile(r"([+-]?)=?(.*)")


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = Parser("scontrol")
    parser.add_argument("words", nargs="*")
    parser.flags("-o --oneliner", "-d --details", "-a --all", "-Q --quiet", "--json")
    parser.ignored("-M --clusters", takes_value=True)
    given, rest = parser.parse_known_intermixed_args(arguments)
    verb, *named = [*given.words, *rest] or [""]
    verb = next((each for each in _VERBS if verb and each.startswith(verb.lower())), "")
    if not verb:
        raise SlurmError(f"invalid keyword: {' '.join(given.words)}")
    return _VERBS[verb](given, named)


def _show(given: Namespace, named: Sequence[str]) -> int:
    what, *names = named or [""]
    entity, equals, value = what.partition("=")
    if equals:
        names = [value, *names]
    shown = next((each for each in _SHOWN if entity and each.startswith(entity.lower())), "")
    if not shown:
        raise SlurmError(f"invalid entity:{entity} for keyword:show")
    return _SHOWN[shown](given, names)


def _show_hostnames(_: Namespace, names: Sequence[str]) -> int:
    text = ",".join(names) or os.environ.get("SLURM_JOB_NODELIST") or os.environ.get("SLURM_NODELIST", "")
    if not text:
        raise SlurmError("host list is empty")
    try:
        show_lines(expanded(text))
    except ValueError:
        raise SlurmError(f"Invalid hostlist: {text}") from None
    return 0


def _show_hostlist(_: Namespace, names: Sequence[str]) -> int:
    listed = [name.strip() for text in names for name in text.replace("\n", ",").split(",")]
    if names and names[0].startswith("/"):
        with open(names[0]) as file:
            listed = [name for line in file for name in line.replace(",", " ").split()]
    show_lines([compressed(filter(None, listed))])
    return 0


def _show_jobs(given: Namespace, names: Sequence[str]) -> int:
    with connected("scontrol") as client:
        cluster = Cluster(client)
        rows = _named_rows(cluster, names) if names else _all_rows(cluster)
        if given.json:
            sys.stdout.write(written(queue_document(rows)))
        elif rows:
            _show_records([job_text(row) for row in rows], given)
        else:
            show_lines(["No jobs in the system"])
    return 0


def _all_rows(cluster: Cluster) -> list[JobRow]:
    jobs = [job for job in cluster.client.jobs(state="active") if job.tasks is None]
    arrays = [job for job in cluster.client.jobs(state="active") if job.tasks is not None]
    tasks = [task for array in arrays for task in cluster.client.jobs(array=array.id, state="active")]
    return [cluster.row(job) for job in (*jobs, *tasks)]


def _named_rows(cluster: Cluster, names: Sequence[str]) -> list[JobRow]:
    found: list[JobRow] = []
    for reference in read_references(words(names), "scontrol"):
        try:
            jobs = cluster.named(reference)
        except NotFound:
            raise SlurmError(f"slurm_load_jobs error: {INVALID}") from None
        arrays = [task for job in jobs if job.tasks is not None for task in cluster.client.jobs(array=job.id)]
        found += [cluster.row(job) for job in (*(job for job in jobs if job.tasks is None), *arrays)]
    known = [row for row in found if not is_forgotten(row.job, cluster.now)]
    if found and not known:
        raise SlurmError(f"slurm_load_jobs error: {INVALID}")
    return known


def _write(_: Namespace, named: Sequence[str]) -> int:
    """`write batch_script JOB [FILE]`: the script of a job, into a file or to standard output."""
    what, number, *file = [*named, "", ""]
    if not what or not "batch_script".startswith(what):
        raise SlurmError(f"invalid keyword: write {' '.join(named)}".rstrip())
    with connected("scontrol") as client:
        row, path = _named_rows(Cluster(client), [number])[0], next(filter(None, file), f"slurm-{number}.sh")
    if not is_batch(row):
        raise SlurmError(f"job script retrieval failed: {INVALID}")
    script = str(row.job.spec.get("run", ""))
    if path == "-":
        sys.stdout.write(script)
        return 0
    try:
        with open(path, "w", encoding="utf-8") as opened:
            opened.write(script)
    except OSError as error:
        raise SlurmError(f"failed to open file `{path}': {error.strerror}") from None
    show_lines([f"batch script for job {number} written to {path}"])
    return 0


def _show_nodes(given: Namespace, names: Sequence[str]) -> int:
    with connected("scontrol") as client:
        rows = _nodes(client)
    wanted = [name for word in words(names) for name in expanded(word)]
    shown = [row for row in rows if not wanted or row.node.name in wanted]
    missing = [name for name in wanted if name not in {row.node.name for row in rows}]
    if given.json:
        sys.stdout.write(written(nodes_document(shown)))
    else:
        _show_records([node_text(row) for row in shown], given)
    for name in missing:
        complain(f"Node {name} not found")
    return 1 if missing else 0


def _show_partitions(given: Namespace, names: Sequence[str]) -> int:
    with connected("scontrol") as client:
        rows = _nodes(client)
        tiers, known = [str(tier["name"]) for tier in client.tiers()], client.pools()
    pools = list(dict.fromkeys(row.node.pool for row in rows))
    wanted = words(names)
    if missing := [name for name in wanted if name not in pools]:
        raise SlurmError(f"Partition {missing[0]} not found")
    texts = [
        partition_text([row for row in rows if row.node.pool == pool], tiers_of(known, pool) or tiers)
        for pool in pools
        if not wanted or pool in wanted
    ]
    _show_records(texts, given)
    return 0


def _show_config(_: Namespace, __: Sequence[str]) -> int:
    with connected("scontrol") as client:
        show_lines(config_lines(client))
    return 0


def _show_records(texts: Sequence[str], given: Namespace) -> None:
    if given.oneliner:
        show_lines(" ".join(text.split()) for text in texts)
    else:
        show_lines(f"{text}\n" for text in texts)


def _nodes(client: Client) -> list[NodeRow]:
    return node_rows(tuple(client.nodes()))


def _ping(_: Namespace, __: Sequence[str]) -> int:
    with connected("scontrol") as client:
        client.health()
        show_lines([f"Slurmctld(primary) at {client.url} is UP"])
    return 0


def _version(_: Namespace, __: Sequence[str]) -> int:
    show_lines([VERSION])
    return 0


def _ask(verb: str) -> Callable[[Namespace, Sequence[str]], int]:
    """What asks something of each job that is named."""

    def ask(_: Namespace, names: Sequence[str]) -> int:
        return _each(names, lambda client, job: client.request(verb, job))

    return ask


def _each(names: Sequence[str], act: Callable[[Client, str], object]) -> int:
    texts = [name.removeprefix("JobId=").removeprefix("jobid=") for name in words(names)]
    if not texts:
        raise SlurmError(NEED_JOB)
    failed = False
    with connected("scontrol") as client:
        for reference in read_references(texts, "scontrol"):
            for job in reference.ids:
                failed |= not _is_done(client, job, act)
    return 1 if failed else 0


def _is_done(client: Client, job: str, act: Callable[[Client, str], object]) -> bool:
    try:
        act(client, job)
    except NotFound:
        complain(f"{INVALID} for job {job.removeprefix('job-').replace('.', '_')}")
        return False
    except MusterError as error:
        complain(f"{error}")
        return False
    return True


def _update(_: Namespace, names: Sequence[str]) -> int:
    settings = {key.lower(): value for key, equals, value in (name.partition("=") for name in names) if equals}
    ids = settings.pop("jobid", "") or settings.pop("job", "")
    if "nodename" in settings:
        return _update_node(settings)
    if not ids:
        raise SlurmError("No job, node or partition was named: JobId=7 or NodeName=n1")
    wanted = _changes(settings)

    def change(client: Client, job: str) -> None:
        if (priority := wanted.pop("held", None)) is not None:
            client.request("hold" if priority else "release", job)
        given = {
            key: _limit(client, job, str(value)) if key == "max_duration_s" else value for key, value in wanted.items()
        }
        if given:
            client.update(job, **given)  # type: ignore[arg-type]

    return _each([ids], change)


def _changes(settings: dict[str, str]) -> dict[str, object]:
    """What settings of Slurm become. A priority of 0 holds a job."""
    changes: dict[str, object] = {}
    for key, value in settings.items():
        match key:
            case "timelimit":
                changes["max_duration_s"] = value
            case "priority" if value.isdecimal():
                changes |= {"held": True} if int(value) == 0 else {"priority": min(int(value), 100), "held": False}
            case "qos":
                changes["tier"] = value
            case "comment":
                changes["tags"] = {"comment": value}
            case _:
                raise SlurmError(f"Update of this parameter is not supported: {key}={value}")
    return changes


def _limit(client: Client, job: str, text: str) -> float:
    """A time limit in seconds. `+30` and `-30` change the one that there is."""
    match = _WORK.fullmatch(text)
    assert match is not None
    try:
        seconds = read_duration(match[2])
    except ValueError:
        raise SlurmError(f"Invalid time limit: {text}") from None
    if seconds is None:
        raise SlurmError("a job always has a time limit here; give one, such as 7-00:00:00")
    if not match[1]:
        return seconds
    present = client.job(job).max_duration_s or 0
    return present + seconds if match[1] == "+" else max(present - seconds, 1)


def _update_node(settings: dict[str, str]) -> int:
    state, reason = settings.get("state", "").lower(), settings.get("reason")
    with connected("scontrol") as client:
        for name in expanded(settings["nodename"]):
            if state == "drain":
                client.drain(name, reason=reason)
            elif state in ("resume", "undrain", "idle"):
                client.undrain(name, reason=reason)
            else:
                raise SlurmError(f"Invalid input: State={state}; drain and resume are known here")
    return 0


_SHOWN: dict[str, Callable[[Namespace, Sequence[str]], int]] = {
    "jobs": _show_jobs,
    "jobid": _show_jobs,
    "nodes": _show_nodes,
    "partitions": _show_partitions,
    "config": _show_config,
    "hostnames": _show_hostnames,
    "hostlist": _show_hostlist,
    "hostlistsorted": _show_hostlist,
}

_VERBS: dict[str, Callable[[Namespace, Sequence[str]], int]] = {
    "show": _show,
    "hold": _ask("hold"),
    "uhold": _ask("hold"),
    "release": _ask("release"),
    "requeue": _ask("requeue"),
    "update": _update,
    "write": _write,
    "ping": _ping,
    "version": _version,
}
