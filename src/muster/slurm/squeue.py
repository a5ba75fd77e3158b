"""`squeue`: the jobs that wait and run."""

import sys
from argparse import Namespace
from collections.abc import Sequence
from functools import partial

from muster.slurm.asking import INVALID, Cluster, JobQuery, is_forgotten, read_references, read_states
from muster.slurm.options import Parser, SlurmError, connected, joined, show_lines, words
from muster.slurm.showing.columns import TableLayout, by_letters, by_wide_names
from muster.slurm.showing.documents import queue_document, written
from muster.slurm.showing.host_lists import expanded
from muster.slurm.showing.job_fields import JOB_FIELDS
from muster.slurm.showing.job_rows import JobRow
from muster.slurm.showing.states import SHORT

USUAL = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
LONG = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
STEPS = "%.15i %.8j %.9P %.8u %.9M %N"
STARTS = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"

LETTERS = {
    "a": "Account",
    "A": "JobIDRaw JOBID",
    "b": "tres-per-node",
    "B": "BatchHost",
    "c": "MinCPUs",
    "C": "NumCPUs",
    "D": "NumNodes",
    "e": "EndTime",
    "E": "Dependency",
    "f": "Feature",
    "F": "ArrayJobID",
    "g": "GroupName",
    "G": "GID GROUP",
    "h": "OverSubscribe OVER_SUBSCRIBE",
    "i": "JobArrayID",
    "j": "Name",
    "k": "Comment",
    "K": "ArrayTaskID",
    "l": "ShownLimit",
    "L": "TimeLeft",
    "m": "MinMemory",
    "M": "TimeUsed",
    "N": "Nodes",
    "o": "Command",
    "p": "Priority",
    "P": "Partition",
    "q": "QOS",
    "Q": "PriorityLong",
    "r": "Reason",
    "R": "ReasonList",
    "S": "StartTime",
    "t": "StateCompact",
    "T": "State",
    "u": "UserName",
    "U": "UID USER",
    "V": "SubmitTime",
    "x": "ExcNodes",
    "Y": "Nodes SCHEDNODES",
    "z": "NumTasks",
    "Z": "WorkDir",
}
"""The field that each letter of a format stands for, with its header where that is another."""

STEP_LETTERS = {**LETTERS, "i": "JobArrayID STEPID", "P": "JobPartition PARTITION"}

_SORTED_AS_NUMBERS = frozenset("AcCDFiKmpQUz")
_STATE_ORDER = {state: place for place, state in enumerate(SHORT)}


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    given = _parser().parse_args(joined(arguments, "-S", "--sort"))
    with connected("squeue") as client:
        cluster = Cluster(client)
        rows = _steps(cluster, _rows(cluster, given)) if given.steps else _rows(cluster, given)
        if given.json:
            sys.stdout.write(written(queue_document(rows)))
            return 0
        show_lines(_layout(given).lines(rows, header=not given.noheader))
    return 0


def _parser() -> Parser:
    parser = Parser("squeue")
    parser.add_argument("-o", "--format")
    parser.add_argument("-O", "--Format", dest="wide")
    parser.add_argument("-S", "--sort")
    parser.texts("-j --jobs --job", "-u --users --user", "-t --states --state")
    parser.texts("-A --accounts --account", "-p --partitions --partition", "-n --names --name")
    parser.texts("-q --qos", "-w --nodelist")
    parser.flags("-h --noheader", "-l --long", "-r --array", "--me", "--start", "--json", "-s --steps")
    parser.ignored("-a --all", "--federation", "--local", "-P --priority", "--array-unique")
    parser.ignored("-M --clusters --cluster", takes_value=True)
    return parser


def _rows(cluster: Cluster, given: Namespace) -> list[JobRow]:
    states, users = words(given.states), words(given.users)
    wanted = JobQuery(
        references=read_references(words(given.jobs), "squeue"),
        users=cluster.users(users) if users else (cluster.me,) if given.me else (),
        names=words(given.names),
        accounts=words(given.accounts),
        partitions=words(given.partitions),
        qos=words(given.qos),
        nodes=tuple(name for word in words(given.nodelist) for name in expanded(word)),
        states=frozenset({"PENDING"}) if given.start else read_states(states, "squeue"),
    )
    rows = cluster.rows(wanted, with_ended=bool(wanted.references or states), each_task=given.array)
    known = [row for row in rows if not is_forgotten(row.job, cluster.now)]
    if wanted.references and not known and len(wanted.references) == 1 and not _is_known(cluster, wanted):
        raise SlurmError(f"slurm_load_jobs error: {INVALID}")
    shown = known if states else [row for row in known if row.job.ended is None]
    return _sorted(shown, given.sort or "P,t,-p,i")


def _steps(cluster: Cluster, rows: Sequence[JobRow]) -> list[JobRow]:
    """The steps that run, in the place of their jobs."""
    return [step for row in rows for step in cluster.steps(row) if step.state == "RUNNING"]


def _is_known(cluster: Cluster, wanted: JobQuery) -> bool:
    """True when a job exists and ended a moment ago at most, though nothing of it is shown."""
    found = cluster.rows(JobQuery(references=wanted.references), with_ended=True, each_task=True)
    return any(not is_forgotten(row.job, cluster.now) for row in found)


def _layout(given: Namespace) -> TableLayout[JobRow]:
    if given.wide:
        return by_wide_names(given.wide, JOB_FIELDS, "squeue")
    if given.steps:
        return by_letters(given.format or STEPS, STEP_LETTERS, JOB_FIELDS, "squeue")
    usual = STARTS if given.start else LONG if given.long else USUAL
    return by_letters(given.format or usual, LETTERS, JOB_FIELDS, "squeue")


def _sorted(rows: Sequence[JobRow], order: str) -> list[JobRow]:
    """The rows in this order: letters of a format, the first counts most, with - for the other way round."""
    found = list(rows)
    for key in reversed([part.strip() for part in order.split(",")]):
        letter = key.lstrip("+-")
        if letter not in LETTERS:
            raise SlurmError(f"squeue: error: Invalid sort specification: {key}")
        found.sort(key=partial(_place, letter), reverse=key.startswith("-"))
    return found


def _place(letter: str, row: JobRow) -> tuple[float, str]:
    if letter in "tT":
        return (_STATE_ORDER[row.state], "")
    if letter == "M":
        return (row.elapsed_s, "")
    text = str(JOB_FIELDS[LETTERS[letter].partition(" ")[0].lower()].value(row))
    if letter in _SORTED_AS_NUMBERS:
        digits = "".join(each if each.isdigit() else " " for each in text).split()
        return (float(digits[0]) if digits else 0, text.rjust(20))
    return (0, text)
