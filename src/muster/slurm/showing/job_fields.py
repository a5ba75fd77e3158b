"""All fields of a job by name, for squeue, sacct and scontrol."""

import grp
import os
from collections.abc import Callable

from muster.slurm.showing import script_fields
from muster.slurm.showing.columns import Field, catalog
from muster.slurm.showing.durations import long_time, moment_text, short_time
from muster.slurm.showing.host_lists import compressed
from muster.slurm.showing.job_rows import BYTES_PER_MB, COMMENT_TAG, JobRow
from muster.slurm.showing.states import SHORT

CLUSTER = "muster"
NOTHING = script_fields.NOTHING


def _left(row: JobRow) -> str:
    return "UNLIMITED" if row.left_s is None else short_time(row.left_s)


def _where(row: JobRow) -> str:
    """The nodes, or in brackets why there are none."""
    return row.node_list if row.node_list and not row.is_pending else f"({row.reason})" if row.is_pending else ""


def _exit_code(row: JobRow) -> str:
    return "{}:{}".format(*row.exit_pair)


def _priority(row: JobRow) -> int:
    return row.job.priority


def _cpu_time_s(row: JobRow) -> int:
    return int(row.elapsed_s) * row.cpu_count


def _group(_: JobRow) -> str:
    try:
        return grp.getgrgid(os.getgid()).gr_name
    except KeyError:
        return str(os.getgid())


_MEASURED = (
    "AveCPU AveCPUFreq AveDiskRead AveDiskWrite AvePages AveRSS AveVMSize ConsumedEnergy ConsumedEnergyRaw MaxDiskRead "
    "MaxDiskReadNode MaxDiskReadTask MaxDiskWrite MaxDiskWriteNode MaxDiskWriteTask MaxPages MaxPagesNode MaxPagesTask "
    "MaxRSS MaxRSSNode MaxRSSTask MaxVMSize MaxVMSizeNode MaxVMSizeTask MinCPU MinCPUNode MinCPUTask TRESUsageInAve "
    "TRESUsageInMax TRESUsageInTot TRESUsageOutAve TRESUsageOutMax TRESUsageOutTot AdminComment SystemComment WCKey "
    "Reservation ReservationId McsLabel Flags Container SubmitLine"
)
"""What is measured of some steps only, or not measured or kept at all. The fields exist and are empty."""


def _field(name: str, value: Callable[[JobRow], object], *, title: str = "", width: int = 10) -> Field[JobRow]:
    return Field(name=name, value=value, title=title, width=width)


def _measured(name: str) -> Field[JobRow]:
    return _field(name, lambda row: row.measured.get(name, ""))


JOB_FIELDS = catalog(
    (
        _field("JobID", lambda row: row.job_id, width=12),
        _field("JobIDRaw", lambda row: row.raw_id, width=12),
        _field("JobArrayID", lambda row: row.job_id, title="JOBID", width=18),
        _field("ArrayJobID", lambda row: row.array_id, title="ARRAY_JOB_ID"),
        _field("ArrayTaskID", lambda row: row.task_id or "N/A", title="ARRAY_TASK_ID"),
        _field("JobName", lambda row: row.name, title="NAME"),
        _field("Name", lambda row: row.name),
        _field("State", lambda row: row.state),
        _field("StateCompact", lambda row: SHORT[row.state], title="ST"),
        _field("ExitCode", _exit_code, title="EXIT_CODE", width=8),
        _field("DerivedExitCode", _exit_code, width=15),
        _field("Reason", lambda row: row.reason, width=22),
        _field("ReasonList", _where, title="NODELIST(REASON)", width=22),
        _field("User", lambda row: "" if row.step else row.job.user, width=9),
        _field("UserName", lambda row: row.job.user, title="USER", width=9),
        _field("UserID", lambda row: row.user_id, width=9),
        _field("UID", lambda row: row.user_id, width=6),
        _field("Group", _group, width=9),
        _field("GroupName", _group, title="GROUP", width=9),
        _field("GID", lambda _: os.getgid(), width=6),
        _field("Account", lambda row: row.job.team),
        _field("QOS", lambda row: row.job.tier),
        _field("Partition", lambda row: "" if row.step else row.partition),
        _field("JobPartition", lambda row: row.partition),
        _field("Cluster", lambda _: CLUSTER),
        _field("Priority", _priority),
        _field("PriorityLong", _priority, title="PRIORITY"),
        _field("Nice", lambda _: 0),
        _field("NodeList", lambda row: row.node_list or "None assigned", width=15),
        _field("Nodes", lambda row: row.node_list, title="NODELIST", width=15),
        _field("NNodes", lambda row: row.node_count, title="NODES", width=8),
        _field("NumNodes", lambda row: row.node_count, title="NODES", width=8),
        _field("AllocNodes", lambda row: len(row.nodes), title="ALLOC_NODES"),
        _field("BatchHost", lambda row: next(iter(row.nodes), "n/a"), title="EXEC_HOST"),
        _field("ReqNodes", lambda row: row.worker_count, title="REQ_NODES", width=8),
        _field("NTasks", lambda row: row.task_count if row.step else "", width=8),
        _field("NumTasks", lambda row: row.task_count, title="TASKS"),
        _field("NCPUS", lambda row: row.cpu_count, title="CPUS"),
        _field("NumCPUs", lambda row: row.cpu_count, title="CPUS"),
        _field("AllocCPUS", lambda row: 0 if row.is_pending else row.cpu_count),
        _field("ReqCPUS", lambda row: row.cpu_count, width=8),
        _field("MinCPUs", lambda row: row.cpus_per_task, title="MIN_CPUS"),
        _field("cpus-per-task", lambda row: row.cpus_per_task, title="CPUS_PER_TASK"),
        _field("ReqMem", lambda row: row.memory_per_node),
        _field("MinMemory", lambda row: row.memory_per_node, title="MIN_MEMORY"),
        _field("AllocTRES", lambda row: "" if row.is_pending else row.tres()),
        _field("ReqTRES", lambda row: row.tres()),
        _field("tres", lambda row: row.tres(), title="TRES"),
        _field("tres-alloc", lambda row: "N/A" if row.is_pending else row.tres(), title="TRES_ALLOC"),
        _field("tres-per-node", lambda row: row.gres_per_node, title="TRES_PER_NODE"),
        _field("Gres", lambda row: row.gres_per_node, title="TRES_PER_NODE"),
        _field("ReqGRES", lambda row: row.gres_per_node.removeprefix("gres:")),
        _field("AllocGRES", lambda row: row.gres_per_node.removeprefix("gres:")),
        _field("Submit", lambda row: moment_text(row.job.submitted), width=19),
        _field("SubmitTime", lambda row: moment_text(row.job.submitted), title="SUBMIT_TIME", width=19),
        _field("Eligible", lambda row: moment_text(script_fields.eligible(row)), width=19),
        _field("EligibleTime", lambda row: moment_text(script_fields.eligible(row)), title="ELIGIBLE_TIME"),
        _field("Start", lambda row: moment_text(row.started), width=19),
        _field("StartTime", lambda row: moment_text(row.expected_start, "N/A"), title="START_TIME"),
        _field("End", lambda row: moment_text(row.ended), width=19),
        _field("EndTime", lambda row: moment_text(row.expected_end, "N/A"), title="END_TIME"),
        _field("Elapsed", lambda row: long_time(row.elapsed_s)),
        _field("ElapsedRaw", lambda row: int(row.elapsed_s)),
        _field("TimeUsed", lambda row: short_time(row.elapsed_s), title="TIME"),
        _field("TimeLeft", _left, title="TIME_LEFT"),
        _field("Timelimit", lambda row: long_time(row.limit_s), title="TIME_LIMIT"),
        _field("ShownLimit", lambda row: short_time(row.limit_s), title="TIME_LIMIT"),
        _field("TimelimitRaw", lambda row: "" if row.limit_s is None else int(row.limit_s // 60)),
        _field("CPUTime", lambda row: long_time(_cpu_time_s(row))),
        _field("CPUTimeRAW", _cpu_time_s),
        _field("TotalCPU", lambda row: row.measured.get("TotalCPU", "00:00:00")),
        _field("UserCPU", lambda _: "00:00:00"),
        _field("SystemCPU", lambda _: "00:00:00"),
        _field("Suspended", lambda _: "00:00:00"),
        _field("Restarts", lambda row: max(row.job.attempt - 1, 0), title="RESTARTCNT"),
        _field("RestartCnt", lambda row: max(row.job.attempt - 1, 0), title="RESTARTCNT"),
        _field("Requeue", script_fields.may_requeue),
        _field("Dependency", lambda row: row.dependency or NOTHING),
        _field("Constraints", lambda row: row.job.spec.get("constraint", "")),
        _field("Feature", lambda row: row.job.spec.get("constraint", NOTHING), title="FEATURES"),
        _field("ExcNodes", lambda row: compressed(row.job.spec.get("exclude", ())), title="EXC_NODES"),
        _field("Comment", lambda row: row.job.tags.get(COMMENT_TAG, "")),
        _field("Command", script_fields.command),
        _field("WorkDir", lambda row: row.job.spec.get("workdir", ""), title="WORK_DIR"),
        _field("StdOut", script_fields.output_file, title="STDOUT"),
        _field("StdErr", script_fields.error_file, title="STDERR"),
        _field("OverSubscribe", lambda row: "NO" if row.job.spec.get("exclusive") else "OK"),
        _field("MemoryMB", lambda row: row.memory_bytes // BYTES_PER_MB),
        *(_measured(name) for name in _MEASURED.split()),
    )
)
