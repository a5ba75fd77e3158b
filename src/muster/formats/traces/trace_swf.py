"""Traces in the Standard Workload Format of the Parallel Workloads Archive: 18 numbers per job, `;` before comments.

Processors count as GPUs. A field of -1 means that the source does not say. A job whose run time or processors are not
known cannot be replayed and is left out. A job with 0 processors asks for nothing.
"""

from muster.formats.text.units import BadValue, shown
from muster.formats.traces import cells
from muster.formats.traces.lines import LineProblems, Lines, TraceJobs
from muster.model.ids import JobId, TeamPath
from muster.model.resources import GPU_MILLI
from muster.model.spec import DEFAULT_TEAM
from muster.model.trace import RUN_MS_MIN, TraceJob

FIELDS = (
    "job",
    "submit",
    "wait",
    "run_time",
    "used_processors",
    "used_cpu_time",
    "used_memory",
    "requested_processors",
    "requested_time",
    "requested_memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding_job",
    "think_time",
)
STATUSES = {0: "failed", 1: "completed", 5: "cancelled"}
BURSTS = (2, 3, 4)
"""Statuses of lines for a part of a job between two checkpoints. Another line describes the whole job."""


def read_swf(lines: Lines, problems: LineProblems) -> tuple[tuple[TraceJob, ...], int]:
    """All jobs in the order of their submission, and how many were left out. What is wrong with them is noted."""
    jobs = TraceJobs(problems)
    skipped = 0
    for line in lines:
        words = line.split()
        if not words or words[0].startswith(";"):
            continue
        fields = _fields(words, lines.number, problems)
        if fields is None or fields["status"] in BURSTS:
            continue
        if fields["run_time"] < 0 or _processors(fields) < 0:
            skipped += 1
            continue
        job = _job(fields, words, lines.number, problems)
        if job is not None:
            jobs.add(job, lines.number, "job")
    return jobs.by_submission(), skipped


def _fields(words: list[str], line: int, problems: LineProblems) -> dict[str, int] | None:
    """The numbers of a line by name, cut to whole numbers, or None after noting what is wrong."""
    if len(words) != len(FIELDS):
        hint = "; begins a comment" if len(words) > len(FIELDS) else "write -1 for what is not known"
        problems.add(line, "", f"has {len(words)} fields, and a job has {len(FIELDS)}", hint)
        return None
    fields: dict[str, int] = {}
    for name, word in zip(FIELDS, words, strict=True):
        try:
            fields[name] = int(cells.number(word))
        except BadValue as error:
            problems.add(line, name, error.problem, "write -1 for what is not known")
    return fields if len(fields) == len(FIELDS) else None


def _processors(fields: dict[str, int]) -> int:
    """What was asked for, or else what was used; below 0 when the source says neither."""
    requested, used = fields["requested_processors"], fields["used_processors"]
    return requested if requested > 0 else max(requested, used)


def _job(fields: dict[str, int], words: list[str], line: int, problems: LineProblems) -> TraceJob | None:
    before = problems.count
    processors = _processors(fields)
    if processors > cells.GANG_GPUS_MAX:
        hint = f"at most {cells.GANG_GPUS_MAX}"
        problems.add(line, "requested_processors", f"{shown(processors)} processors are too many", hint)
    submit_ms = _seconds_ms("submit", words, line, problems)
    run_ms = _seconds_ms("run_time", words, line, problems)
    limit_ms = _seconds_ms("requested_time", words, line, problems) if fields["requested_time"] > 0 else None
    if problems.count > before:
        return None
    return TraceJob(
        id=JobId(str(fields["job"])),
        submit_ms=submit_ms,
        run_ms=max(RUN_MS_MIN, run_ms),
        gpu_milli=processors * GPU_MILLI,
        team=TeamPath(f"g{fields['group']}") if fields["group"] >= 0 else DEFAULT_TEAM,
        user=f"u{fields['user']}" if fields["user"] >= 0 else "",
        name=f"app-{fields['executable']}" if fields["executable"] >= 0 else "",
        max_duration_ms=limit_ms,
        status=STATUSES.get(fields["status"], ""),
    )


def _seconds_ms(name: str, words: list[str], line: int, problems: LineProblems) -> int:
    try:
        return cells.submit_ms(words[FIELDS.index(name)])
    except BadValue as error:
        problems.add(line, name, error.problem, error.hint)
        return 0
