"""`scancel`: ends jobs, or sends them a signal."""

import signal as signals
from argparse import Namespace
from collections.abc import Sequence

from muster.client import Client
from muster.model.errors import MusterError, NotFound
from muster.slurm.asking import INVALID, Cluster, JobQuery, read_references, read_states
from muster.slurm.options import Parser, SlurmError, complain, connected, words
from muster.slurm.showing.host_lists import expanded
from muster.slurm.showing.job_ids import JobReference, shown_id

RUNNING = ("running", "checkpointing", "stopping")
ENDING = frozenset({"TERM", "KILL"})
"""Signals that end a job when they are sent to all of it."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    given = _parser().parse_intermixed_args(arguments)
    references = read_references(words([*given.ids, *given.jobs]), "scancel")
    wanted = JobQuery(
        names=words(given.jobname),
        accounts=words(given.account),
        partitions=words(given.partition),
        qos=words(given.qos),
        nodes=tuple(name for word in words(given.nodelist) for name in expanded(word)),
        states=read_states(words(given.state), "scancel"),
    )
    is_filtered = wanted != JobQuery() or given.user or given.me
    if not references and not is_filtered:
        raise SlurmError("scancel: error: No job identification provided")
    with connected("scancel") as client:
        return _cancel(client, given, references, wanted, is_filtered=bool(is_filtered))


def _parser() -> Parser:
    parser = Parser("scancel")
    parser.add_argument("ids", nargs="*")
    parser.texts("-n --jobname --name", "-A --account", "-p --partition", "-q --qos")
    parser.texts("-t --state", "-w --nodelist", "-u --user", "--jobs")
    parser.add_argument("-s", "--signal")
    parser.flags("-b --batch", "-f --full", "--me", "-Q --quiet", "-H --hurry", "--ctld")
    parser.ignored("-i --interactive")
    parser.ignored("-M --clusters", "-R --reservation", "--wckey", "--sibling", takes_value=True)
    return parser


def _cancel(
    client: Client, given: Namespace, references: Sequence[JobReference], wanted: JobQuery, *, is_filtered: bool
) -> int:
    cluster = Cluster(client)
    targets = [job for reference in references for job in reference.ids]
    if is_filtered:
        asked = words(given.user)
        users = cluster.users(asked) if asked else (cluster.me,)
        found = JobQuery(
            users=users if asked or given.me or not references else (),
            names=wanted.names,
            accounts=wanted.accounts,
            partitions=wanted.partitions,
            qos=wanted.qos,
            nodes=wanted.nodes,
            states=wanted.states,
            references=tuple(references),
        )
        rows = cluster.rows(found, with_ended=False, each_task=True)
        targets = [row.job.id for row in rows if row.job.ended is None]
    failed = [job for job in targets if not _is_done(client, job, given)]
    return 1 if failed else 0


def _is_done(client: Client, job: str, given: Namespace) -> bool:
    """End one job or send it the signal. What cannot be done is said."""
    name = signal_name(given.signal) if given.signal else ""
    try:
        if not name or (name in ENDING and not given.batch):
            client.cancel(job)
        else:
            _signal(client, job, name, given)
    except NotFound:
        return _told(job, INVALID, given)
    except MusterError as error:
        return _told(job, str(error), given)
    return True


def _signal(client: Client, job: str, name: str, given: Namespace) -> None:
    """Send a signal to a job, or to all tasks of an array that run."""
    found = client.job(job)
    tasks = [found] if found.tasks is None else list(client.jobs(array=job, state=list(RUNNING)))
    for task in tasks:
        if given.full or not given.batch:
            client.signal(task.id, name)
        if given.full or given.batch:
            client.signal(task.id, name, script_only=True)


def _told(job: str, problem: str, given: Namespace) -> bool:
    if not given.quiet:
        complain(f"scancel: error: Kill job error on job id {shown_id(job)}: {problem}")
    return False


def signal_name(text: str) -> str:
    """The name of a signal without SIG, from its name or its number."""
    word = text.upper().removeprefix("SIG")
    if word.isdecimal() and int(word) in {each.value for each in signals.Signals}:
        return signals.Signals(int(word)).name.removeprefix("SIG")
    if not hasattr(signals, f"SIG{word}"):
        raise SlurmError(f"scancel: error: Unknown job signal: {text}")
    return word
