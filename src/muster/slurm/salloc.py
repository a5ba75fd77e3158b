"""`salloc`: an allocation, and a command or a shell on this machine that uses it. It is released when that ends."""

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence

from muster.cli.terminal.interruptions import Interruptions
from muster.client.answers import Job
from muster.client.client import Client
from muster.client.pauses import pauses_s
from muster.formats.sbatch.options import SALLOC, SBATCH, BadOption, Option, read_options
from muster.formats.text.document import InvalidDocument
from muster.model.errors import NotFound
from muster.model.ids import JobId, job_number
from muster.slurm.immediate import check_starts_now, immediate_s, wait_for_start
from muster.slurm.options import SlurmError, complain, connected
from muster.slurm.srun import ALLOCATION
from muster.slurm.submitting import prepared
from muster.worker.gang.allocation import read_allocation
from muster.worker.gang.node_lists import node_list
from muster.worker.gang.started_commands import exit_code

FAILED = 1
MARK = "muster-allocation "

SCRIPT = f"""\
#!/bin/sh
echo "{MARK}${ALLOCATION}"
exec sleep infinity
"""
"""What holds the allocation: it says where it is described, and waits."""


def main(arguments: Sequence[str]) -> int:
    """Wait for the allocation, run the command, and release it."""
    try:
        options, command = read_options(arguments, SALLOC)
    except BadOption as error:
        complain(f"salloc: {error.problem}\n{error.hint}")
        return FAILED
    said = {option.name for option in options}
    if {"help", "usage", "version"} & said:
        sys.stdout.write("Usage: salloc [OPTIONS...] [command [args...]]\n")
        return 0
    if ":" in command:
        raise SlurmError("salloc: error: heterogeneous jobs are not known here")
    with connected("salloc") as client:
        interruptions = Interruptions()
        with interruptions, interruptions.kept():
            document, within_s = _document(client, options), immediate_s(options, "salloc")
            check_starts_now(client, document, within_s, "salloc")
            job = client.submit(document)
        number = job_number(JobId(job.id))
        code: int | None = None
        try:
            with interruptions:
                interruptions.raise_kept()
                _tell(f"Pending job allocation {number}", said)
                wait_for_start(client, job, within_s, "salloc")
                path = _granted(client, job)
                _tell(f"Granted job allocation {number}", said)
            code = 0 if "no-shell" in said else _run(path, command, said)
        except KeyboardInterrupt:
            code = FAILED
        finally:
            if code is None or "no-shell" not in said:
                client.cancel(job.id, reason="its salloc ended")
                _tell(f"Relinquishing job allocation {number}", said)
        return code


def _document(client: Client, options: Sequence[Option]) -> dict[str, object]:
    known = SBATCH.flags | SBATCH.optional | SBATCH.valued
    asked = [each for each in options if each.name in known and each.name != "wait"]
    try:
        return prepared(client, SCRIPT, file="interactive", options=asked, output="").document
    except InvalidDocument as error:
        raise SlurmError(f"salloc: error: {error}") from None


def _granted(client: Client, job: Job) -> str:
    """The file that describes the allocation, once the job runs."""
    pauses = pauses_s()
    while True:
        found = client.job(job.id)
        if found.is_final:
            raise SlurmError(
                f"salloc: error: Job allocation {job_number(JobId(job.id))} has been revoked: it is {found.state}"
            )
        try:
            text = b"".join(piece.text for piece in client.logs(job.id)) if found.attempt else b""
        except NotFound:
            text = b""
        for line in text.decode("utf-8", "replace").splitlines():
            if line.startswith(MARK):
                return line.removeprefix(MARK)
        time.sleep(next(pauses))


def _run(path: str, command: Sequence[str], said: set[str]) -> int:
    """Run the command here, with the variables of the allocation. It reads the terminal and hears Ctrl-C."""
    try:
        allocation = read_allocation(path)
    except OSError as error:
        raise SlurmError(f"salloc: error: the allocation cannot be used from here: {path}: {error.strerror}") from None
    own = {name: value for name, value in allocation.variables.items() if not _is_of_a_process(name)}
    commands = allocation.script.commands
    variables = {**os.environ, **own, ALLOCATION: path, "PATH": f"{commands}:{os.environ.get('PATH', os.defpath)}"}
    words = list(command) or [os.environ.get("SHELL", "/bin/sh")]
    _tell(f"Nodes {node_list(allocation.nodes)} are ready for job", said)
    try:
        child = subprocess.Popen(words, env=variables)
    except OSError as error:
        raise SlurmError(f"salloc: error: Unable to run {shlex.join(words)}: {error.strerror}") from None
    while True:
        try:
            return exit_code(child)
        except KeyboardInterrupt:  # the command hears it too, and decides
            continue


def _is_of_a_process(name: str) -> bool:
    return name in ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_GTIDS", "SLURMD_NODENAME") or (
        name.startswith("CUDA")
    )


def _tell(text: str, said: set[str]) -> None:
    if "quiet" not in said:
        sys.stderr.write(f"salloc: {text}\n")
