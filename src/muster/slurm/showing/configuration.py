"""What `scontrol show config` says: the settings that tools read."""

import os
from datetime import datetime

from muster.client import Client
from muster.model.limits import ARRAY_TASKS
from muster.slurm.asking import MIN_JOB_AGE_S
from muster.slurm.options import VERSION
from muster.slurm.showing.durations import moment_text


def config_lines(client: Client) -> list[str]:
    """All lines."""
    settings = {
        "AccountingStorageType": "accounting_storage/slurmdbd",
        "AccountingStorageEnforce": "associations,limits,qos",
        "AccountingStorageTRES": "cpu,mem,energy,node,billing,fs/disk,vmem,pages,gres/gpu",
        "ClusterName": "muster",
        "DefMemPerNode": "UNLIMITED",
        "EnforcePartLimits": "NO",
        "GresTypes": "gpu",
        "JobRequeue": "1",
        "KillWait": "30 sec",
        "MaxArraySize": str(ARRAY_TASKS + 1),
        "MaxJobCount": "UNLIMITED",
        "MinJobAge": f"{MIN_JOB_AGE_S} sec",
        "MpiDefault": "none",
        "PreemptMode": "REQUEUE",
        "PreemptType": "preempt/qos",
        "PriorityType": "priority/multifactor",
        "ProctrackType": "proctrack/cgroup",
        "SchedulerType": "sched/backfill",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_CORE_MEMORY",
        "SlurmUser": f"{os.environ.get('USER', 'root')}({os.getuid()})",
        "SlurmctldHost[0]": client.url,
        "SLURM_VERSION": VERSION.removeprefix("slurm "),
        "TaskPlugin": "task/cgroup",
        "TmpFS": "/tmp",
    }
    head = f"Configuration data as of {moment_text(datetime.now().astimezone())}"
    down = ("", f"Slurmctld(primary) at {client.url} is UP")
    return [head, *(f"{name:<23} = {value}" for name, value in settings.items()), *down]
