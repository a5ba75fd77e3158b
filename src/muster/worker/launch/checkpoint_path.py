"""Where a job keeps its checkpoints for good. Pure: every process of a job, on every node, means the same place."""

import os

from muster.model.spec import JobSpec


def checkpoint_path(spec: JobSpec, job: str) -> str:
    """The durable path of a job: of a task of an array a folder of its own, and absolute unless it is an address."""
    path = "" if spec.checkpoint is None else spec.checkpoint.path
    if "://" not in path:
        path = os.path.join(working_folder(spec), path)
    _, dot, index = job.rpartition(".")
    return f"{path.rstrip('/')}/{index}" if dot and index.isdecimal() else path


def working_folder(spec: JobSpec) -> str:
    """Where the commands of a job run, unless that is a working copy; then the home directory of its user."""
    if spec.is_workdir_copied:
        return os.path.expanduser("~")
    return os.path.join(os.path.expanduser("~"), os.path.expanduser(spec.workdir))
