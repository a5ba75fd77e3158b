"""What `scontrol show job` says of the script of a job: its file, where it prints to, what it may do."""

import os
from datetime import datetime, timedelta
from typing import Any

from muster.formats.text.units import duration_ms
from muster.model.spec import Launch
from muster.slurm.showing.host_lists import compressed
from muster.slurm.showing.job_rows import JobRow
from muster.worker.gang.file_names import ARRAY_WORDS, file_name

NOTHING = "(null)"


def is_batch(row: JobRow) -> bool:
    """True for a script, and not for a job file with a command."""
    return row.job.spec.get("launch") == Launch.SLURM


def command(row: JobRow) -> str:
    """The file of the script with its arguments. What came without a file has none, as with `--wrap`."""
    if not is_batch(row):
        return str(row.job.spec.get("run") or NOTHING).split("\n")[0]
    words = [str(row.batch.get("file", "")), *map(str, row.batch.get("arguments") or ())]
    return " ".join(words) if words[0] else NOTHING


def output_file(row: JobRow) -> str:
    """The file that the script prints to, as it is called on the node."""
    return _file(row, str(row.batch.get("output", "")))


def error_file(row: JobRow) -> str:
    """The file for its standard error: that of its output, unless it has one of its own."""
    return _file(row, str(row.batch.get("error") or row.batch.get("output", "")))


def _file(row: JobRow, pattern: str) -> str:
    if not pattern:
        return ""
    array = {} if row.job.array is None else {ARRAY_WORDS["A"]: row.array_id, ARRAY_WORDS["a"]: row.task_id}
    known = {"SLURM_JOB_ID": row.raw_id, "SLURM_JOB_NAME": row.name, "SLURM_JOB_USER": row.job.user, **array}
    first = {"SLURMD_NODENAME": row.nodes[0]} if "%N" in pattern and row.nodes else {}
    return os.path.join(str(row.job.spec.get("workdir", "")), file_name(pattern, {**known, **first}))


def may_requeue(row: JobRow) -> int:
    """1 unless it said `--no-requeue`."""
    return int(row.job.spec.get("preemptible") is not False)


def requested_nodes(row: JobRow) -> str:
    """The nodes that it named."""
    named = row.job.spec.get("nodelist") or ()
    return compressed([named] if isinstance(named, str) else named) or NOTHING


def eligible(row: JobRow) -> datetime | None:
    """When it might start at the earliest; None while it waits for other jobs."""
    if row.is_pending and row.job.depends_on and row.reason == "Dependency":
        return None
    submitted = row.job.submitted
    return None if submitted is None else max(submitted, _begin(row.job.spec.get("begin"), submitted))


def _begin(said: Any, submitted: datetime) -> datetime:
    if said is None:
        return submitted
    try:
        return datetime.fromisoformat(str(said))
    except ValueError:
        return submitted + timedelta(milliseconds=duration_ms(said))


def tasks_per_node(row: JobRow) -> int:
    """How many tasks each node has; 0 where that follows from the number of tasks."""
    return 0 if row.batch.get("tasks") else int(row.batch.get("tasks_per_worker", 0))


def cpus_per_node(row: JobRow) -> int:
    """CPUs that each of its nodes needs."""
    return max(row.cpus_per_task, row.cpu_count // max(row.worker_count, 1))
