"""`sacct`: jobs that wait, run and have ended, with their steps."""

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from datetime import datetime

from muster.slurm.asking import STEPS_MAX, Cluster, JobQuery, read_references, read_states
from muster.slurm.options import Parser, SlurmError, complain, connected, show_lines, words
from muster.slurm.showing.columns import named_lines
from muster.slurm.showing.documents import accounting_document, written
from muster.slurm.showing.durations import read_moment
from muster.slurm.showing.host_lists import expanded
from muster.slurm.showing.job_fields import JOB_FIELDS
from muster.slurm.showing.job_rows import JobRow

USUAL = "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode"
BRIEF = "JobID,State,ExitCode"
LONG = (
    "JobID,JobIDRaw,JobName,Partition,MaxVMSize,MaxVMSizeNode,MaxVMSizeTask,AveVMSize,MaxRSS,MaxRSSNode,MaxRSSTask,"
    "AveRSS,MaxPages,AvePages,MinCPU,AveCPU,NTasks,AllocCPUS,Elapsed,State,ExitCode,ReqMem,ConsumedEnergy,AllocTRES"
)


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    given = _parser().parse_args(arguments)
    if given.helpformat:
        show_lines(field.name for field in JOB_FIELDS.values())
        return 0
    with connected("sacct") as client:
        cluster = Cluster(client)
        rows = list(_lines(cluster, _rows(cluster, given), given))
        if given.json:
            sys.stdout.write(written(accounting_document(rows)))
            return 0
        wanted = ",".join(given.format) or (BRIEF if given.brief else LONG if given.long else USUAL)
        show_lines(named_lines(wanted, JOB_FIELDS, rows, given, "sacct"))
    return 0


def _parser() -> Parser:
    parser = Parser("sacct")
    parser.texts("-j --jobs", "-o --format", "-s --state", "-u --user --uid", "--name")
    parser.texts("-A --accounts", "-r --partition", "-q --qos", "-N --nodelist")
    parser.add_argument("-S", "--starttime")
    parser.add_argument("-E", "--endtime")
    parser.add_argument("--delimiter", default="|")
    parser.flags("-X --allocations", "-n --noheader", "-p --parsable", "-P --parsable2")
    parser.flags("-a --allusers", "-l --long", "-b --brief", "--array", "--json")
    parser.flags("-e --helpformat")
    parser.ignored("-D --duplicates", "-L --allclusters", "--local", "--federation", "-T --truncate")
    parser.ignored("-M --clusters", "--units", "-g --gid", "-W --wckeys", "-F --flags", takes_value=True)
    parser.ignored("--noconvert")
    return parser


def _rows(cluster: Cluster, given: Namespace) -> list[JobRow]:
    references = read_references(words(given.jobs), "sacct")
    users = words(given.user)
    is_for_all = given.allusers or references or words(given.name)
    since = _moment(given.starttime or ("00:00" if not references else ""), cluster.now)
    until = _moment(given.endtime or "", cluster.now)
    wanted = JobQuery(
        references=references,
        users=cluster.users(users) if users else () if is_for_all else (cluster.me,),
        names=words(given.name),
        accounts=words(given.accounts),
        partitions=words(given.partition),
        qos=words(given.qos),
        nodes=tuple(name for word in words(given.nodelist) for name in expanded(word)),
        states=read_states(words(given.state), "sacct"),
    )
    rows = cluster.rows(wanted, with_ended=True, each_task=given.array, since=since)
    shown = [row for row in rows if until is None or row.job.submitted is None or row.job.submitted <= until]
    return sorted(shown, key=lambda row: (int(row.array_id), 0 if row.job.array is None else row.job.array.index))


def _moment(text: str, now: datetime) -> datetime | None:
    if not text:
        return None
    try:
        return read_moment(text, now)
    except ValueError:
        raise SlurmError(f"sacct: error: Invalid time specification: {text}") from None


def _lines(cluster: Cluster, rows: Sequence[JobRow], given: Namespace) -> Iterator[JobRow]:
    """Each job with its steps. A step that was named is shown alone."""
    references = read_references(words(given.jobs), "sacct")
    for row in rows:
        named = {each.step for each in references if each.means(row.job)}
        is_whole = not named or "" in named
        if is_whole:
            yield row
        if not is_whole or not given.allocations:
            yield from (step for step in cluster.steps(row) if is_whole or step.step in named)
    if cluster.left_out_steps:
        complain(
            f"sacct: steps are shown of the first {STEPS_MAX} jobs; name others with -j, or leave steps out with -X"
        )
