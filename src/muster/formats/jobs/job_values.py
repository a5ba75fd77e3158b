"""Values of a job file that are more than text or a number: how each is read, written back, and described."""

import re
import signal
from typing import Annotated

from muster.formats.parts.kinds import DURATION_SCHEMA, JsonSchema, Kind, job_id, text
from muster.formats.text import ranges, units
from muster.formats.text.units import BadValue, shown
from muster.model.ids import JobId, NodeName
from muster.model.limits import JOB_NAME_CHARS, MAX_DURATION_MS
from muster.model.machines.constraint import BadConstraint, constraint_text, parse_constraint
from muster.model.spec import ArraySpec, Begin, Dependency, DependencyWhen

NODES_NAMED = 1000
"""The most nodes that a job may name. They are stored with it."""

SIGNAL_MAX = 64

_LOOKS_LIKE_A_DATE = re.compile(r"[0-9]{4}-")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_JOB_NAME = re.compile(rf"[a-z0-9-]{{1,{JOB_NAME_CHARS}}}")


def job_name(value: object) -> str:
    """The name of a job."""
    word = text(value)
    if not _JOB_NAME.fullmatch(word):
        raise BadValue(f"{shown(word)} is not a name for a job", f"1 to {JOB_NAME_CHARS} of a-z, 0-9 and -")
    return word


def run_limit_ms(value: object) -> int:
    """A length of time that a job may be given."""
    duration = units.duration_ms(value)
    if not 0 < duration <= MAX_DURATION_MS:
        raise BadValue(f"must be above zero and at most {units.duration_text(MAX_DURATION_MS)}, not {shown(value)}")
    return duration


def interval_ms(value: object) -> int | None:
    """How often to save: a duration, or None for `auto`."""
    if value == "auto":
        return None
    duration = units.duration_ms(value)
    if duration < 1:
        raise BadValue(f"must be auto or a duration above zero, not {shown(value)}")
    return duration


SAME = "same"


def dependency(value: object) -> Dependency:
    """`prep-1`, or `{job: prep-1, when: failed}`, with `task: same` between two arrays."""
    if not isinstance(value, dict):
        return Dependency(job=JobId(job_id(value)))
    unknown = [str(key) for key in value if key not in ("job", "when", "task")]
    if unknown or "job" not in value:
        raise BadValue(f"unknown key {unknown[0]!r}" if unknown else "does not say which job", "{job: …, when: …}")
    when = value.get("when") or DependencyWhen.SUCCEEDED
    if when not in tuple(DependencyWhen):
        raise BadValue(f"when must be one of {', '.join(DependencyWhen)}, not {shown(when)}")
    if value.get("task", SAME) != SAME:
        raise BadValue(f"task must be {SAME}, not {shown(value['task'])}", "each task waits for that with its index")
    return Dependency(job=JobId(job_id(value["job"])), when=DependencyWhen(when), same_task="task" in value)


def dependency_value(each: Dependency) -> object:
    """The inverse of `dependency`."""
    if each.same_task:
        return {"job": each.job, "when": each.when.value, "task": SAME}
    return {"job": each.job, "when": each.when.value} if each.when != DependencyWhen.SUCCEEDED else each.job


def constraint(value: object) -> str:
    """Which labels the nodes have, as it is kept and shown."""
    given = text(value)
    try:
        return constraint_text(parse_constraint(given)) if given.strip() else ""
    except BadConstraint as error:
        raise BadValue(f"{shown(given)}: {error.problem}", error.hint) from None


def nodes_named(value: object) -> tuple[NodeName, ...]:
    """`n1`, `"n[1-4]"`, `"n1,n[5-8]"` or a list of these: the names of nodes, each once."""
    items = value if isinstance(value, list) else [value]
    words = [word for item in items for word in ranges.comma_separated(item)]
    found = dict.fromkeys(NodeName(each) for word in words for each in ranges.node_names(word))
    if len(found) > NODES_NAMED:
        raise BadValue(f"names {len(found)} nodes", f"at most {NODES_NAMED}; give so many a label, and a constraint")
    return tuple(found)


def begin(value: object) -> Begin:
    """A time, or a length of time after the submission."""
    if isinstance(value, str) and _LOOKS_LIKE_A_DATE.match(value.strip()):
        return Begin(at_ms=units.time_ms(value))
    try:
        after_ms = units.duration_ms(value.strip().removeprefix("+") if isinstance(value, str) else value)
    except BadValue:
        problem = f"{shown(value)} is neither a time nor a length of time"
        raise BadValue(problem, "such as 2026-11-18T20:00:00Z, or 90m after the submission") from None
    if after_ms > MAX_DURATION_MS:
        raise BadValue(f"{shown(value)} is too far away", f"at most {units.duration_text(MAX_DURATION_MS)}")
    return Begin(after_ms=after_ms)


def begin_text(value: Begin) -> str:
    """The inverse of `begin`."""
    return units.time_text(value.at_ms) if value.at_ms else units.duration_text(value.after_ms)


def signal_name(value: object) -> str:
    """The name or the number of a signal, without `SIG`."""
    word = text(value).upper().removeprefix("SIG")
    if word.isdecimal() and 0 < int(word) <= SIGNAL_MAX:
        return word
    if not hasattr(signal.Signals, f"SIG{word}"):
        raise BadValue(f"{shown(value)} is not a signal", "such as USR1")
    return word


_ID_SCHEMA: JsonSchema = {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,40}$"}
_DEPENDENCY_SCHEMA: JsonSchema = {
    "description": "A job that must have ended in some way first.",
    "oneOf": [
        _ID_SCHEMA,
        {
            "type": "object",
            "description": "Which, and how.",
            "properties": {
                "job": _ID_SCHEMA,
                "when": {"enum": [each.value for each in DependencyWhen]},
                "task": {"const": SAME},
            },
            "additionalProperties": False,
            "required": ["job"],
        },
    ],
}
_INTERVAL_SCHEMA: JsonSchema = {"oneOf": [{"const": "auto"}, {"type": "string", "pattern": "^[1-9][0-9]{0,2}[smh]$"}]}
_ARRAY_SCHEMA: JsonSchema = {"type": "string", "pattern": r"^0-[1-9][0-9]?(%[1-9])?$", "examples": ["0-99%8"]}
VARIABLE_SCHEMA: JsonSchema = {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,60}$"}

_LABELS_SCHEMA: JsonSchema = {"type": "string", "pattern": "^[a-z][a-z0-9]{0,9}( [&|] !?[a-z][a-z0-9]{0,9}){0,3}$"}
_NODE_SCHEMA: JsonSchema = {"type": "string", "pattern": r"^n[1-9][0-9]?(\[[1-4]-[5-9]\])?$"}
_BEGIN_SCHEMA: JsonSchema = {
    "description": "A time, or a length of time after the submission.",
    "oneOf": [
        {"type": "string", "format": "date-time", "pattern": "^20[3-9][0-9]-0[1-9]-[012][1-8]T[01][0-9]:00:00Z$"},
        {"type": "string", "pattern": "^[1-9][0-9]{0,2}[smh]$"},
    ],
    "examples": ["2026-11-18T20:00:00Z", "90m"],
}

JobName = Annotated[
    str, Kind(read=job_name, schema={"type": "string", "pattern": f"^[a-z0-9-]{{1,{JOB_NAME_CHARS}}}$"})
]
SignalName = Annotated[str, Kind(read=signal_name, schema={"enum": ["USR1", "USR2", "TERM", "INT", "HUP"]})]
Variable = Annotated[str, Kind(read=text, schema=VARIABLE_SCHEMA)]
RunLimit = Annotated[int, Kind(read=run_limit_ms, write=units.duration_text, unit="ms", schema=DURATION_SCHEMA)]
Interval = Annotated[int | None, Kind(read=interval_ms, write=units.duration_text, unit="ms", schema=_INTERVAL_SCHEMA)]
DependencyEntry = Annotated[Dependency, Kind(read=dependency, write=dependency_value, schema=_DEPENDENCY_SCHEMA)]
Labels = Annotated[str, Kind(read=constraint, schema=_LABELS_SCHEMA)]
NodeNames = Annotated[
    tuple[NodeName, ...],
    Kind(
        read=nodes_named,
        write=list,
        schema={"oneOf": [_NODE_SCHEMA, {"type": "array", "items": _NODE_SCHEMA, "minItems": 1, "maxItems": 8}]},
    ),
]
BeginTime = Annotated[Begin, Kind(read=begin, write=begin_text, schema=_BEGIN_SCHEMA)]
Array = Annotated[ArraySpec, Kind(read=ranges.array_spec, write=ranges.array_text, schema=_ARRAY_SCHEMA)]

STORAGES = ("file", "s3", "gs", "gcs", "az", "abfs", "abfss", "hdfs", "webhdfs", "oci", "oss", "smb", "sftp", "memory")
"""The addresses that checkpoints may be kept at. Most need a package for that storage."""


def checkpoint_path(value: object) -> str:
    """A folder, or an address of storage that is known. `file:/x` is the same as `file:///x`."""
    path = text(value)
    scheme, colon, rest = path.partition(":")
    if "://" not in path and not (colon and scheme.lower() in STORAGES):
        if path.startswith("~"):
            raise BadValue(f"{shown(path)}: ~ is not looked up", "an absolute path on the nodes")
        return path
    scheme, is_local = scheme.lower(), scheme.lower() == "file"
    if scheme not in STORAGES:
        raise BadValue(f"{shown(scheme)} is no storage that is known", f"a folder, or one of {', '.join(STORAGES)}://…")
    place = rest.removeprefix("//") if rest.startswith("//") or is_local else ""
    if not place.strip("/"):
        raise BadValue(f"{shown(path)} names no place", "such as s3://bucket/run or file:///folder")
    if is_local and not place.removeprefix("localhost").startswith("/"):
        raise BadValue(f"{shown(path)} is no absolute path", "such as file:///folder, with three slashes")
    return f"{scheme}://{place}"


def bundle_id(value: object) -> str:
    """The name of a bundle."""
    name = text(value)
    if not _DIGEST.fullmatch(name):
        raise BadValue(f"{shown(name)} is not the name of a bundle", "leave it out: `muster submit` makes a bundle")
    return name


BundleId = Annotated[str, Kind(read=bundle_id, schema={"type": "string", "pattern": "^[0-9a-f]{64}$"})]
CheckpointPath = Annotated[str, Kind(read=checkpoint_path, schema={"type": "string"})]
