"""Jobs, nodes and partitions as `scontrol show` writes them: `Key=value` in lines that belong together."""

import os
from collections.abc import Sequence

from muster.slurm.showing import script_fields
from muster.slurm.showing.columns import Fields
from muster.slurm.showing.durations import long_time, moment_text
from muster.slurm.showing.host_lists import compressed
from muster.slurm.showing.job_fields import JOB_FIELDS
from muster.slurm.showing.job_rows import JobRow
from muster.slurm.showing.node_rows import NodeRow

_JOB = """\
JobId={jobid} JobName={jobname}
   UserId={user}({userid}) GroupId={group}({gid}) MCS_label=N/A
   Priority={priority} Nice={nice} Account={account} QOS={qos}
   JobState={state} Reason={reason} Dependency={dependency}
   Requeue={requeue} Restarts={restarts} BatchFlag={batchflag} Reboot=0 ExitCode={exitcode}
   RunTime={elapsed} TimeLimit={timelimit} TimeMin=N/A
   SubmitTime={submit} EligibleTime={eligible}
   AccrueTime={eligible}
   StartTime={start_or_expected} EndTime={end_or_expected} Deadline=N/A
   SuspendTime=None SecsPreSuspend=0 LastSchedEval={submit} Scheduler=Main
   Partition={partition} AllocNode:Sid={here}
   ReqNodeList={requested} ExcNodeList={excluded}
   NodeList={nodes}
{host}   NumNodes={numnodes} NumCPUs={numcpus} NumTasks={numtasks} CPUs/Task={cpus-per-task} ReqB:S:C:T=0:0:*:*
   TRES={tres}
   Socks/Node=* NtasksPerN:B:S:C={tasks_per_node}:0:*:* CoreSpec=*
   MinCPUsNode={cpus_per_node} MinMemoryNode={minmemory} MinTmpDiskNode=0
   Features={feature} DelayBoot=00:00:00
   OverSubscribe={oversubscribe} Contiguous=0 Licenses=(null) Network=(null)
   Command={command}
   WorkDir={workdir}
{said}   StdErr={stderr}
   StdIn=/dev/null
   StdOut={stdout}
   Power={per_node}"""
"""Lines of Slurm 22.05 in its order. It leaves out the lines about things that a job does not have."""

_NODE = """\
NodeName={name} Arch=x86_64 CoresPerSocket={cpus}
   CPUAlloc={used_cpus} CPUEfctv={cpus} CPUTot={cpus} CPULoad=N/A
   AvailableFeatures={features}
   ActiveFeatures={features}
   Gres={gres}
   NodeAddr={name} NodeHostName={name} Version=22.05.9
   OS=Linux
   RealMemory={memory_mb} AllocMem={used_mb} FreeMem={free_mem} Sockets=1 Boards=1
   State={state} ThreadsPerCore=1 TmpDisk={disk_mb} Weight=1 Owner=N/A MCS_label=N/A
   Partitions={pool}
   CfgTRES={tres}
   AllocTRES={used_tres}
   Reason={reason}"""

_PARTITION = """\
PartitionName={name}
   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL
   AllocNodes=ALL Default={default} QoS=N/A
   DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO
   MaxNodes=UNLIMITED MaxTime=UNLIMITED MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED
   Nodes={nodes}
   PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO
   OverTimeLimit=NONE PreemptMode=REQUEUE
   State=UP TotalCPUs={cpus} TotalNodes={count} SelectTypeParameters=NONE
   JobDefaults=(null)
   DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED
   TRES=cpu={cpus},mem={memory_mb}M,node={count},billing={cpus}{gpus}
   Qos={tiers}"""


class _Values(dict[str, object]):
    """The values of all fields of a job, each worked out when it is needed."""

    def __init__(self, row: JobRow, fields: Fields[JobRow], **more: object) -> None:
        super().__init__(more)
        self._row = row
        self._fields = fields

    def __missing__(self, name: str) -> object:
        return self._fields[name].value(self._row)


def job_text(row: JobRow) -> str:
    """A job."""
    comment, gres = str(JOB_FIELDS["comment"].value(row)), row.gres_per_node
    own = {
        "jobid": row.raw_id,
        "batchflag": int(script_fields.is_batch(row)),
        "requested": script_fields.requested_nodes(row),
        "host": f"   BatchHost={row.nodes[0]}\n" if row.nodes else "",
        "tasks_per_node": script_fields.tasks_per_node(row),
        "cpus_per_node": script_fields.cpus_per_node(row),
        "said": f"   Comment={comment}\n" if comment else "",
        "per_node": f"\n   TresPerNode={gres}" if gres != "N/A" else "",
        "start_or_expected": moment_text(row.expected_start),
        "end_or_expected": moment_text(row.expected_end),
        "excluded": JOB_FIELDS["excnodes"].value(row) or "(null)",
        "here": f"{os.uname().nodename}:0",
        "nodes": row.node_list or "(null)",
        "timelimit": long_time(row.limit_s),
    }
    text = _JOB.format_map(_Values(row, JOB_FIELDS, **own))
    array = row.job.array
    if array is None:
        return text
    throttle = str(row.job.spec.get("array") or "").partition("%")[2]
    more = f" ArrayTaskThrottle={throttle}" if throttle else ""
    named = f"JobId={row.raw_id} ArrayJobId={row.array_id} ArrayTaskId={array.index}{more}"
    return text.replace(f"JobId={row.raw_id}", named, 1)


def node_text(row: NodeRow) -> str:
    """A node."""
    return _NODE.format(
        name=row.node.name,
        cpus=row.cpus,
        used_cpus=row.used_cpus,
        features=row.features,
        gres=row.gres,
        memory_mb=row.memory_mb,
        used_mb=row.used_mb,
        free_mem=row.free_mem,
        disk_mb=row.disk_mb,
        state=_node_state(row),
        pool=row.node.pool,
        tres=row.tres,
        used_tres=row.used_tres,
        reason=row.node.because or "",
    )


def _node_state(row: NodeRow) -> str:
    words = {"draining": "ALLOCATED+DRAIN", "drained": "IDLE+DRAIN"}
    return words.get(row.state, row.state.upper())


def partition_text(rows: Sequence[NodeRow], tiers: Sequence[str]) -> str:
    """A partition, from its nodes."""
    cpus, gpus = sum(row.cpus for row in rows), sum(row.node.gpus for row in rows)
    return _PARTITION.format(
        name=rows[0].node.pool,
        default="YES" if rows[0].partition.endswith("*") else "NO",
        nodes=compressed(row.node.name for row in rows),
        cpus=cpus,
        count=len(rows),
        memory_mb=sum(row.memory_mb for row in rows),
        gpus=f",gres/gpu={gpus}" if gpus else "",
        tiers=",".join(tiers),
    )
