"""What a supervisor says about itself when a control plane connects."""

from muster.worker.launch.launch_spec import NodeContext
from muster.worker.messages import PROTOCOL
from muster.worker.processes.cgroups import CPU, MEMORY, PIDS
from muster.worker.records.register import Register
from muster.worker.service import Message


def greeting(context: NodeContext, register: Register, *, pid: int, stays: bool) -> Message:
    """What it is, which messages it knows, and the newest that it has heard of every job.

    One that does not stay on its node has an agent that tells whether all output has arrived.
    """
    root = context.cgroup_root
    gangs = register.gangs.values()
    return {
        "protocol": PROTOCOL,
        "node": context.node,
        "pid": pid,
        "limits": root.kind if root.kind != "none" else "rlimits",
        "unlimited": [each for each in (MEMORY, CPU, PIDS) if not root.limits(each)],
        "last": register.last_number,
        "unheard": max(register.reports, default=0),
        "announces": True,
        "signals": True,
        "probes": True,
        "containers": True,
        "pulls_ahead": True,
        "tells_behind": not stays,
        "gangs": [[gang.job, gang.attempt, gang.generation, gang.port, list(gang.seats)] for gang in gangs],
        "doomed": [[seat.job, seat.attempt, seat.rank] for seat in register.doomed.values()],
    }
