"""Jobs and nodes as JSON, in the shape that Slurm 22.05 has."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from muster.slurm.showing import script_fields
from muster.slurm.showing.durations import unix_time
from muster.slurm.showing.job_fields import CLUSTER
from muster.slurm.showing.job_ids import number_of
from muster.slurm.showing.job_rows import BYTES_PER_MB, COMMENT_TAG, JobRow
from muster.slurm.showing.node_rows import NodeRow

Document = dict[str, Any]


def written(document: Mapping[str, Any]) -> str:
    """The text of a document."""
    return json.dumps({"meta": _META, "errors": [], **document}, indent=2, ensure_ascii=False) + "\n"


_META = {
    "plugin": {"type": "openapi/muster", "name": "Muster"},
    "Slurm": {"version": {"major": 22, "minor": 5, "micro": 9}, "release": "22.05.9"},
}


def queue_document(rows: Iterable[JobRow]) -> Document:
    """What `squeue --json` and `scontrol show job --json` print."""
    return {"jobs": [_queued(row) for row in rows]}


def accounting_document(rows: Sequence[JobRow]) -> Document:
    """What `sacct --json` prints: steps are inside their jobs."""
    return {"jobs": [_accounted(list(lines)) for _, lines in groupby(rows, key=lambda row: row.job.id)]}


def nodes_document(rows: Iterable[NodeRow]) -> Document:
    """What `sinfo --json` and `scontrol show node --json` print."""
    return {"nodes": [_node(row) for row in rows]}


def _queued(row: JobRow) -> Document:
    job = row.job
    code, signal = row.exit_pair
    return {
        "account": job.team,
        "array_job_id": number_of(job.id) if job.array is not None else 0,
        "array_task_id": None if job.array is None else job.array.index,
        "array_task_string": row.task_id.strip("[]") if row.task_id.startswith("[") else "",
        "batch_host": next(iter(row.nodes), ""),
        "cluster": CLUSTER,
        "command": script_fields.command(row),
        "comment": job.tags.get(COMMENT_TAG, ""),
        "cpus": row.cpu_count,
        "current_working_directory": str(job.spec.get("workdir", "")),
        "dependency": row.dependency,
        "end_time": unix_time(row.expected_end),
        "exit_code": signal or code,
        "hold": job.held,
        "job_id": number_of(job.id),
        "job_id_text": row.job_id,
        "job_state": row.state,
        "memory_per_node": row.memory_bytes // max(row.worker_count, 1) // BYTES_PER_MB,
        "name": row.name,
        "node_count": row.node_count,
        "nodes": row.node_list,
        "partition": row.partition,
        "priority": job.priority,
        "qos": job.tier,
        "requeue": bool(script_fields.may_requeue(row)),
        "restart_cnt": max(job.attempt - 1, 0),
        "standard_error": script_fields.error_file(row),
        "standard_output": script_fields.output_file(row),
        "start_time": unix_time(row.started),
        "state_reason": row.reason,
        "submit_time": unix_time(job.submitted),
        "tasks": row.task_count,
        "time_limit": None if row.limit_s is None else int(row.limit_s // 60),
        "tres_alloc_str": "" if row.is_pending else row.tres(),
        "tres_req_str": row.tres(),
        "user_id": row.user_id,
        "user_name": job.user,
    }


def _accounted(lines: Sequence[JobRow]) -> Document:
    row = lines[0]
    job = row.job
    return {
        "account": job.team,
        "allocation_nodes": len(row.nodes),
        "array": {"job_id": number_of(job.id) if job.array is not None else 0, "task_id": _index(row)},
        "cluster": CLUSTER,
        "comment": {"job": job.tags.get(COMMENT_TAG, "")},
        "exit_code": _exit_document(row),
        "job_id": number_of(job.id),
        "job_id_text": row.job_id,
        "name": row.name,
        "nodes": row.node_list or "None assigned",
        "partition": row.partition,
        "priority": job.priority,
        "qos": job.tier,
        "required": {"CPUs": row.cpu_count, "memory": row.memory_bytes // BYTES_PER_MB},
        "restart_cnt": max(job.attempt - 1, 0),
        "state": {"current": row.state, "reason": row.reason},
        "steps": [_step(each) for each in lines if each.step],
        "time": {
            "elapsed": int(row.elapsed_s),
            "eligible": unix_time(job.submitted),
            "end": unix_time(job.ended),
            "limit": None if row.limit_s is None else int(row.limit_s // 60),
            "start": unix_time(row.started),
            "submission": unix_time(job.submitted),
        },
        "tres": {"allocated": _tres_list(row) if not row.is_pending else [], "requested": _tres_list(row)},
        "user": job.user,
        "working_directory": str(job.spec.get("workdir", "")),
    }


def _index(row: JobRow) -> int | None:
    return None if row.job.array is None else row.job.array.index


def _step(row: JobRow) -> Document:
    return {
        "step": {"id": row.job_id, "name": row.name},
        "state": row.state,
        "exit_code": _exit_document(row),
        "nodes": {"count": len(row.nodes), "range": row.node_list},
        "time": {
            "elapsed": int(row.elapsed_s),
            "start": unix_time(row.started),
            "end": unix_time(row.ended),
        },
        "tasks": {"count": row.task_count},
        "tres": {"allocated": _tres_list(row)},
        "statistics": dict(row.measured),
    }


def _exit_document(row: JobRow) -> Document:
    code, signal = row.exit_pair
    if row.ended is None:
        return {"status": "PENDING", "return_code": 0}
    if signal:
        return {"status": "SIGNALED", "return_code": 0, "signal": {"signal_id": signal}}
    return {"status": "ERROR" if code else "SUCCESS", "return_code": code}


def _tres_list(row: JobRow) -> list[Document]:
    parts = (each.partition("=") for each in row.tres().split(",") if each)
    return [{"type": name.partition("/")[0], "name": name.partition("/")[2], "count": text} for name, _, text in parts]


def _node(row: NodeRow) -> Document:
    node = row.node
    return {
        "name": node.name,
        "hostname": node.name,
        "address": node.name,
        "state": row.state,
        "cpus": row.cpus,
        "alloc_cpus": row.used_cpus,
        "idle_cpus": row.idle_cpus,
        "real_memory": row.memory_mb,
        "alloc_memory": node.used.memory_bytes // BYTES_PER_MB,
        "gres": row.gres,
        "gres_used": row.gres_used,
        "features": row.features,
        "partitions": [node.pool],
        "reason": node.because or "",
        "tres": row.tres,
    }
