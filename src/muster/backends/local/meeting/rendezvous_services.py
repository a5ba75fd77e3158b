"""The programs at which gangs meet that must outlive each of their nodes: torchft's lighthouse, PyTorch's store.

Each has a record in the home, and a process that keeps it running for as long as the record is there (see
rendezvous_keeper). A control plane that comes back finds the records, and removes those of gangs that are over.
"""

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from muster.home import Home
from muster.locks import has_locked
from muster.model.ids import JobId
from muster.model.instructions import StartWorkers
from muster.model.spec import JobSpec
from muster.private_files import open_private, write_private
from muster.worker.launch.checkpoint_path import working_folder
from muster.worker.launch.environment import inherited
from muster.worker.launch.frameworks import lighthouse_program, needs_lighthouse, needs_store
from muster.worker.launch.shell_lines import python_program
from muster.worker.output.segments import folder_name

_log = logging.getLogger("muster.backends.local")

LOOK_MS = 500
"""How often services of gangs that are over are looked for, and keepers that died."""

HEARTBEAT_MS = 3_000
"""After how long without a sign a replica group counts as dead for the others, which then go on. It sends ten a second,
and a busy machine delays some."""

JOIN_MS = 10_000
"""How long living replica groups are waited for before the others go on without them."""

_STORE = """
import socket, sys, time
from torch.distributed import TCPStore
host, port = sys.argv[1], int(sys.argv[2])
door = socket.create_server((host, port), backlog=2048)
store = TCPStore(host, port, is_master=True, wait_for_workers=False, multi_tenant=True, master_listen_fd=door.detach())
while True:
    time.sleep(3600)
"""
"""Runs in the Python of the job, because the store speaks the language of its PyTorch."""


class RendezvousServices:
    """The services of one home."""

    def __init__(self, home: Path, is_running: Callable[[JobId, int], bool]) -> None:
        """`is_running` says whether an attempt of a job has workers."""
        self._folder = Home(home).services
        self._is_running = is_running
        self._keepers: list[int] = []
        """The processes that this one has started and must reap."""

    def provide(self, start: StartWorkers, host: str, port: int) -> None:
        """Start what the gang needs to meet, unless it is there. A gang that cannot meet fails, and tries again."""
        line = service_line(start.spec, host, port)
        if line is None:
            return
        try:
            self._keep(self._recorded(start, line))
        except OSError as error:
            _log.warning("a gang cannot meet", extra={"job": start.job, "cause": str(error)})

    def _recorded(self, start: StartWorkers, line: str) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        record = self._folder / f"{folder_name(start.job)}-{start.attempt}.json"
        if not record.exists():
            said = {
                "job": start.job,
                "attempt": start.attempt,
                "line": line,
                "folder": working_folder(start.spec),
                "variables": {**inherited(os.environ), **dict(start.spec.env)},
            }
            write_private(record, json.dumps(said))
        return record

    def look(self, *, is_complete: bool) -> None:
        """Replace keepers that died. Once all nodes have been heard, also end the services of gangs that are over."""
        self._keepers = [pid for pid in self._keepers if os.waitpid(pid, os.WNOHANG)[0] == 0]
        for record, job, attempt in self._records():
            with suppress(OSError):  # the next look tries again
                if self._is_running(job, attempt):
                    self._keep(record)
                elif is_complete:
                    _remove(record)

    def end_all(self) -> None:
        """End every service, and wait for those that this process has started."""
        for record, _, _ in self._records():
            _remove(record)
        for pid in self._keepers:
            os.waitpid(pid, 0)
        self._keepers.clear()

    def _records(self) -> Iterator[tuple[Path, JobId, int]]:
        for record in sorted(self._folder.glob("*.json")):
            with suppress(OSError, ValueError, KeyError):
                said = json.loads(record.read_text())
                yield record, JobId(said["job"]), said["attempt"]

    def _keep(self, record: Path) -> None:
        """Start the keeper of a record, unless there is one: it holds a lock on the record."""
        try:
            file = os.open(record, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        is_kept = not has_locked(file)
        os.close(file)
        if is_kept:
            return
        program = str(Path(__file__).with_name("rendezvous_keeper.py"))
        with open(record.with_suffix(".log"), "ab", opener=open_private) as log:
            files = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
            copies = [(os.POSIX_SPAWN_DUP2, log.fileno(), each) for each in (1, 2)]
            command = [sys.executable, "-I", "-S", program, str(record)]
            pid = os.posix_spawn(command[0], command, os.environ, file_actions=[*files, *copies], setsid=True)
        self._keepers.append(pid)


def _remove(record: Path) -> None:
    record.unlink(missing_ok=True)
    record.with_suffix(".log").unlink(missing_ok=True)


def service_line(spec: JobSpec, host: str, port: int) -> str | None:
    """What a shell runs so that the gang can meet; None for a gang whose first worker is enough."""
    found = next((found for role in spec.roles if (found := python_program(role.run)) is not None), None)
    before, python = ("", "") if found is None else (found.before, found.python)
    if needs_lighthouse(spec):
        fewest = spec.gang_workers if spec.elastic_role is not None else 1
        return (
            f"{before}{lighthouse_program(spec)} --bind {host}:{port} --min_replicas {fewest}"
            f" --heartbeat_timeout_ms {HEARTBEAT_MS} --join_timeout_ms {JOIN_MS}"
        )
    return f"{before}{python or 'python3'} -c '{_STORE}' {host} {port}" if needs_store(spec) else None
