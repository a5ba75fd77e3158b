"""What makes the workers of a gang the nodes of a Ray cluster. Only names; the script is written beside the worker."""

import shlex
from pathlib import Path

from muster.model.instructions import StartWorkers
from muster.model.job import Worker
from muster.worker.gang.program import gang_program
from muster.worker.launch.batch_jobs import SCRIPT
from muster.worker.launch.frameworks import MeetingPlace
from muster.worker.launch.shell_lines import single_command


def ray_line(start: StartWorkers, worker: Worker, folder: Path, meeting: MeetingPlace, line: str) -> str:
    """The line of a worker, after what the job's line prepares, which may put Ray on the path."""
    parts = single_command(line)
    cpus = str(start.spec.role(worker.role).request.cpu_milli // 1000)
    where = (meeting.host, str(meeting.port), f"{start.job} {start.attempt}")
    if worker.rank == min(other.rank for other in start.gang):
        script = folder / SCRIPT
        script.write_text(line)
        command = shlex.join((*gang_program(), "ray-lead", *where, str(len(start.gang)), cpus, str(script)))
    else:
        command = shlex.join((*gang_program(), "ray-join", *where, cpus))
    return f"{'' if parts is None else parts[0]}exec {command}"
