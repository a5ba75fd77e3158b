"""Who owns the nodes of a home: which database they obey, what they run, and how they are fenced.

Read from what supervisors keep on disk, before anything talks to them.
"""

import re
import socket
from dataclasses import dataclass
from pathlib import Path

from muster.backends.local.ending import end_supervisors, last_words, node_folders
from muster.home import Home
from muster.model.machines.ownership import Owner
from muster.worker.messages import WorkerReport
from muster.worker.processes.process_table import boot_id
from muster.worker.records.journal import JOURNAL, recorded
from muster.worker.records.register import Register

_NUMBERED = re.compile(r"job-(\d+)\b")

MACHINE_ID = Path("/etc/machine-id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """What the files of a home say about its nodes."""

    epochs: dict[str, int]
    """By the name of each database that they have obeyed, the newest epoch."""
    running: tuple[str, ...]
    """Gangs that may be alive, in words."""
    highest_number: int
    """The highest number of a job that ever ran here, as far as it is known."""

    @property
    def has_obeyed(self) -> bool:
        """True when some database has governed these nodes before."""
        return any(self.epochs)

    def obey_another_than(self, cluster: str) -> bool:
        """True when some of these nodes last obeyed another database than this one."""
        return any(name and name != cluster for name in self.epochs)


def this_owner(home: Path) -> Owner:
    """What a database remembers of this home as the owner of its nodes."""
    try:
        machine = MACHINE_ID.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        machine = ""
    host = socket.gethostname()
    return Owner(machine=machine or host, home=str(home), host=host)


def traces(home: Path) -> Traces:
    """Look at what is on disk. The cost grows with the length of the journals."""
    registers = {folder.name: recorded(folder / JOURNAL) for folder in node_folders(home)}
    epochs: dict[str, int] = {}
    for register in registers.values():
        epochs[register.cluster] = max(register.epoch, epochs.get(register.cluster, 0))
    jobs = (job for register in registers.values() for job in register.gangs)
    return Traces(
        epochs=epochs,
        running=tuple(said for node, register in registers.items() for said in _running(node, register)),
        highest_number=max((*map(_number, jobs), *map(_number, _logged(home))), default=0),
    )


def fence(home: Path) -> None:
    """End everything that the supervisors of another home of this machine run."""
    end_supervisors(node_folders(home))


def unheard(home: Path) -> tuple[WorkerReport, ...]:
    """Reports of the nodes of a fenced home that were not acknowledged."""
    return tuple(event for folder in node_folders(home) for event in last_words(folder))


def _running(node: str, register: Register) -> list[str]:
    if register.boot != boot_id():
        return []
    gangs = (gang for gang in register.gangs.values() if not gang.is_over)
    return [f"{gang.job} (attempt {gang.attempt}) on {node}" for gang in gangs]


def _logged(home: Path) -> list[str]:
    logs = Home(home).logs
    return [path.name for path in logs.iterdir()] if logs.is_dir() else []


def _number(job: str) -> int:
    found = _NUMBERED.match(job)
    return 0 if found is None else int(found[1])
