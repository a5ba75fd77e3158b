"""A batch script with `#SBATCH` lines -> a job file, and a note on everything that could not be taken over.

The job runs the script once, in its first worker, with `launch: slurm`. Later options override earlier ones: those of
the script, then `SBATCH_*` variables, then those of the command line.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from muster.formats.sbatch.draft import Draft, Note
from muster.formats.sbatch.layout import lay_out
from muster.formats.sbatch.options import SBATCH, BadOption, Option, take_apart
from muster.formats.sbatch.translation import job_name, take
from muster.formats.text.document import Document, InvalidDocument
from muster.formats.text.ranges import array_spec, comma_separated, node_names
from muster.formats.text.units import BadValue
from muster.model.errors import InvalidFile
from muster.model.ids import DEFAULT_POOL

OUTPUT, ARRAY_OUTPUT = "slurm-%j.out", "slurm-%A_%a.out"

_NOT_EXPORTED = re.compile(r"_|SHLVL|PWD|OLDPWD|MUSTER_.*|SLURM_.*|SBATCH_.*|SRUN_.*|SALLOC_.*")
"""Variables that belong to the shell that submits, or to Muster and Slurm themselves."""
_SECRET = re.compile(r".*(TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|ACCESS_KEY|PRIVATE_KEY).*", re.IGNORECASE)
"""Variables that look like secrets. A job is shown to its whole team with what goes along, so they go only if named."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_LIKE_VARIABLES = [
    "account",
    "begin",
    "chdir",
    "constraint",
    "dependency",
    "error",
    "exclude",
    "exclusive",
    "export",
    "gpus",
    "gpus-per-node",
    "gpus-per-task",
    "gres",
    "job-name",
    "mem-per-cpu",
    "mem-per-gpu",
    "no-requeue",
    "nodelist",
    "open-mode",
    "output",
    "partition",
    "qos",
    "requeue",
    "signal",
    "time",
    "wait",
]
_SBATCH_VARIABLES = {
    "SBATCH_ARRAY_INX": "array",
    "SBATCH_TIMELIMIT": "time",
    "SBATCH_MEM_PER_NODE": "mem",
    **{f"SBATCH_{name.upper().replace('-', '_')}": name for name in _LIKE_VARIABLES},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitter:
    """What only the machine knows on which a script is submitted."""

    folder: str = ""
    host: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A script as a job."""

    file: str
    job: dict[str, Any]
    held: bool
    notes: tuple[Note, ...]
    lines: Mapping[str, int]
    """The line of the script that each key of the job comes from."""
    is_singleton: bool = False
    """True when it waits for all jobs of its name and user."""

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
        return next((line for key, line in self.lines.items() if path.startswith(key)), 1) or 1


def import_sbatch(
    text: str,
    *,
    file: str,
    tiers: Mapping[str, str] | None = None,
    pools: Collection[str] | None = None,
    options: Sequence[Option] = (),
    arguments: Sequence[str] = (),
    submitter: Submitter | None = None,
) -> Imported:
    """The job that a batch script describes. `tiers` says which tier stands for a partition or a QOS.

    `pools` are the partitions that there are: another one is refused, where they are known. `options` and `arguments`
    are those of the command line.
    """
    draft = Draft(tiers=tiers or {}, pools=pools)
    at = submitter or Submitter()
    try:
        script = take_apart(text)
        for option in (*script.options, *variable_options(at.variables), *options):
            take(draft, option)
        if not script.body.strip():
            raise BadOption(script.body_line, "", "the script has no commands")
        if not script.interpreter:
            problem = "This does not look like a batch script. The first line must start with #! and the path to an"
            raise BadOption(1, "", f"{problem} interpreter. For instance: #!/bin/sh")
        _name(draft, file)
        _nodes_named(draft)
        lay_out(draft)
        _array(draft)
    except BadOption as error:
        path = f"--{error.name}" if error.name else ""
        wrong = InvalidFile(file=file, line=error.line, path=path, problem=error.problem, hint=error.hint)
        raise InvalidDocument((wrong,)) from None
    draft.batch.setdefault("output", ARRAY_OUTPUT if "array" in draft.job else OUTPUT)
    draft.batch |= {"arguments": list(arguments)} if arguments else {}
    environment = _environment(draft, at)
    draft.job |= {"launch": "slurm", "batch": draft.batch, "env": environment, "run": text}
    draft.lines.setdefault("run", script.body_line)
    notes = tuple(sorted(draft.notes, key=lambda each: each.line))
    return Imported(
        file=file, job=draft.job, held=draft.held, notes=notes, lines=draft.lines, is_singleton=draft.singleton
    )


def variable_options(variables: Mapping[str, str]) -> list[Option]:
    """The options in `SBATCH_*` variables. A flag is given by any value but nothing and 0."""
    found = []
    for variable, name in _SBATCH_VARIABLES.items():
        value = variables.get(variable)
        if value is not None and not (name in SBATCH.flags and value in ("", "0", "no")):
            found.append(Option(name=name, value="" if name in SBATCH.flags else value))
    return found


def _name(draft: Draft, file: str) -> None:
    if "name" not in draft.job:
        # As in Slurm, a job is called after the file of its script.
        name = PurePath(file).name
        draft.variables["SLURM_JOB_NAME"] = "sbatch" if name in ("", "-") else name
        draft.put("name", job_name(PurePath(file).stem), 1)
    draft.job = {"name": draft.job.pop("name"), **draft.job}


def _nodes_named(draft: Draft) -> None:
    """Nodes that are named are all used, as in Slurm. Unlike there, no others are added to them."""
    for key in ("nodelist", "exclude"):
        if key in draft.job:
            try:
                names = [name for word in comma_separated(draft.job[key]) for name in node_names(word)]
            except BadValue as error:
                raise BadOption(draft.lines[key], key, error.problem, error.hint) from None
            draft.job[key] = list(dict.fromkeys(names))
    if "nodelist" in draft.job and draft.nodes is None:
        draft.nodes = len(draft.job["nodelist"])
    named = len(draft.job.get("nodelist", ()))
    if named and (draft.nodes or 0) > named:
        problem = f"names {named} of the {draft.nodes} nodes that --nodes asks for, and a job uses only those it names"
        raise BadOption(draft.lines["nodelist"], "nodelist", problem, "name as many nodes, or leave --nodelist out")


def _array(draft: Draft) -> None:
    if "array" not in draft.job:
        return
    try:
        indices = array_spec(draft.job["array"]).indices
    except BadValue as error:
        raise BadOption(draft.lines["array"], "array", error.problem, error.hint) from None
    step = indices[1] - indices[0] if len(indices) > 1 else 1
    draft.variables |= {
        "SLURM_ARRAY_TASK_COUNT": str(len(indices)),
        "SLURM_ARRAY_TASK_MAX": str(indices[-1]),
        "SLURM_ARRAY_TASK_MIN": str(indices[0]),
        "SLURM_ARRAY_TASK_STEP": str(step),
    }


def _without_secrets(draft: Draft, known: Mapping[str, str], named: Mapping[str, str]) -> dict[str, str]:
    kept_back = sorted(name for name in known if _SECRET.fullmatch(name) and name not in named)
    if kept_back:
        example = f"--export=ALL,{kept_back[0]}"
        draft.note(0, f"{', '.join(kept_back)}: looks secret and does not go along; {example} sends it all the same")
    return {name: value for name, value in known.items() if name not in kept_back}


def _environment(draft: Draft, at: Submitter) -> dict[str, str]:
    """The variables that go along, and those of Slurm that the options decide."""
    named: dict[str, str] = {}
    is_all = False
    for part in draft.export.split(","):
        name, equals, value = part.partition("=")
        is_all = is_all or part in ("ALL", "")
        if equals:
            named[name] = value
        elif name in at.variables:
            named[name] = at.variables[name]
    known = {
        name: value
        for name, value in (at.variables if is_all else {}).items()
        if _VARIABLE.fullmatch(name) and not _NOT_EXPORTED.fullmatch(name)
    }
    known = _without_secrets(draft, known, named)
    folder = {"SLURM_SUBMIT_DIR": at.folder} if at.folder else {}
    host = {"SLURM_SUBMIT_HOST": at.host} if at.host else {}
    partition = {"SLURM_JOB_PARTITION": str(DEFAULT_POOL)}
    return {**known, **named, **partition, **draft.variables, **folder, **host}
