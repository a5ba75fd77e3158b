"""A batch script with `#SBATCH` lines -> a job file, and a note on everything that could not be taken over.

A task becomes a worker. What Slurm states per node is divided by the tasks of a node, so that a worker gets its part.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from muster.formats.sbatch.options import BadOption, BatchScript, take_apart
from muster.formats.sbatch.script import foreign_words, run_command
from muster.formats.sbatch.translation import Draft, Note, job_name, take
from muster.formats.text.document import Document, InvalidDocument
from muster.formats.text.units import BadValue, memory_value
from muster.model.errors import InvalidFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A script as a job."""

    file: str
    job: dict[str, Any]
    held: bool
    notes: tuple[Note, ...]
    lines: Mapping[str, int]
    """The line of the script that each key of the job comes from."""

    @property
    def document(self) -> Document:
        """The job as a document that can be read as a job file."""
        return Document(file=self.file, value=self.job)

    def placed(self, error: InvalidDocument) -> InvalidDocument:
        """What is wrong with the job, with the lines of the script."""
        found = [
            InvalidFile(
                file=each.file, path=each.path, problem=each.problem, hint=each.hint, line=self._line(each.path)
            )
            for each in error.errors
        ]
        return InvalidDocument(tuple(found), more=error.more)

    def _line(self, path: str) -> int:
        return next((line for key, line in self.lines.items() if path.startswith(key)), 1)


def import_sbatch(text: str, *, file: str, tiers: Mapping[str, str] | None = None) -> Imported:
    """The job that a batch script describes. `tiers` says which tier stands for a partition or a QOS."""
    draft = Draft(tiers=tiers or {})
    try:
        script = take_apart(text)
        for option in script.options:
            take(draft, option)
        _name(draft, file)
        _size(draft)
        known = _known_variables(draft)
        draft.put("run", _run(script, known), script.body_line)
    except BadOption as error:
        path = f"--{error.name}" if error.name else ""
        wrong = InvalidFile(file=file, line=error.line, path=path, problem=error.problem, hint=error.hint)
        raise InvalidDocument((wrong,)) from None
    for line, note in foreign_words(script, known):
        draft.note(line, note)
    notes = tuple(sorted(draft.notes, key=lambda each: each.line))
    return Imported(file=file, job=draft.job, held=draft.held, notes=notes, lines=draft.lines)


def _run(script: BatchScript, known: Mapping[str, str]) -> str:
    try:
        return run_command(script, known)
    except BadValue as error:
        raise BadOption(1 if script.body.strip() else script.body_line, "", error.problem, error.hint) from None


def _name(draft: Draft, file: str) -> None:
    if "name" not in draft.job:
        draft.put("name", job_name(PurePath(file).stem), 1)
    draft.job = {"name": draft.job.pop("name"), **draft.job}


def _size(draft: Draft) -> None:
    """How many workers, and what each of them gets."""
    nodes = draft.nodes or 1
    per_node = draft.tasks_per_node or (-(-draft.tasks // nodes) if draft.tasks else 1)
    workers = draft.tasks or nodes * per_node
    resources: dict[str, Any] = dict(draft.job.pop("resources", {}))
    gpus = _gpus_of_worker(draft, workers, per_node)
    if gpus:
        resources = {"gpus": gpus, **({"gpu_type": [draft.gpu_type]} if draft.gpu_type else {}), **resources}
    memory = _memory_of_worker(draft, per_node, gpus, resources.get("cpus", 1))
    if memory:
        resources["memory"] = memory_value(memory)
    draft.job["workers"] = workers
    if resources:
        draft.job["resources"] = resources


def _gpus_of_worker(draft: Draft, workers: int, per_node: int) -> int:
    divisors = {"job": workers, "node": per_node, "task": 1}
    for per, count in draft.gpus.items():
        each, rest = divmod(count, divisors[per])
        if rest:
            problem = f"{count} GPUs do not come out even on {divisors[per]} tasks"
            raise BadOption(draft.lines["resources.gpu"], "gpus", problem, "use --gpus-per-task, or other numbers")
        return each
    return 0


def _memory_of_worker(draft: Draft, per_node: int, gpus: int, cpus: int) -> int:
    factors = {"cpu": cpus, "gpu": gpus}
    for per, size in draft.memory.items():
        return size // per_node if per == "node" else size * factors[per]
    return 0


def _known_variables(draft: Draft) -> dict[str, str]:
    """Slurm variables whose values follow from the options."""
    resources = draft.job.get("resources", {})
    nodes = str(draft.nodes or 1)
    return {
        "SLURM_JOB_NAME": draft.job["name"],
        "SLURM_NNODES": nodes,
        "SLURM_JOB_NUM_NODES": nodes,
        **({"SLURM_CPUS_PER_TASK": str(resources["cpus"])} if "cpus" in resources else {}),
        **({"SLURM_GPUS_ON_NODE": str(resources["gpus"])} if "gpus" in resources else {}),
    }
