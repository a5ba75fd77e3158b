"""The job file as JSON Schema, for the OpenAPI document: for people, generated clients and fuzzing.

Job files are read by `formats.job_file`, which knows more than a schema can say; this is what it takes in the common
spelling, and a test reads what is written by it.
"""

from typing import Any

from muster.formats.job_wire import CHECKPOINTS_KEPT_MAX, ENTRIES_MAX, RETRIES_MAX
from muster.model.limits import GANG_WORKERS, GPUS_PER_NODE, JOB_NAME_CHARS, PRIORITY_MAX
from muster.model.spec import DependencyWhen, Launch, RetryCause

Part = dict[str, Any]

NAME = "JobFile"
PLACE: Part = {"x-job-file": True}
"""Stands where the document is to refer to this."""

_NAME = {"type": "string", "pattern": r"^[A-Za-z0-9][A-Za-z0-9_-]{0,30}$"}
_DURATION = {
    "description": "Such as 90s, 30m, 12h or 7d, or a number of seconds.",
    "oneOf": [
        {"type": "string", "pattern": "^[1-9][0-9]{0,2}[smh]$"},
        {"type": "integer", "minimum": 1, "maximum": 1_000_000},
    ],
    "examples": ["12h"],
}
_SIZE = {
    "description": "Such as 512GiB, or a number of bytes.",
    "oneOf": [
        {"type": "string", "pattern": "^[1-9][0-9]{0,2}(KiB|MiB|GiB|KB|MB|GB)$"},
        {"type": "integer", "minimum": 0, "maximum": 2**40},
    ],
    "examples": ["512GiB"],
}
_TEXT = {"type": "string", "maxLength": 1000, "pattern": r"^[^\u0000]*$"}
_VARIABLE = {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,60}$"}


def _object(description: str, properties: Part, **more: Any) -> Part:
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "additionalProperties": False,
        **more,
    }


def _whole(lowest: int, highest: int, **more: Any) -> Part:
    return {"type": "integer", "minimum": lowest, "maximum": highest, **more}


_RESOURCES = _object(
    "What each worker needs.",
    {
        "gpus": {
            "description": "Whole GPUs, or a share of one.",
            "oneOf": [_whole(1, GPUS_PER_NODE), {"type": "number", "exclusiveMinimum": 0.001, "exclusiveMaximum": 1}],
        },
        "gpu_type": {
            "description": "The types it accepts, preferred first.",
            "oneOf": [_NAME, {"type": "array", "items": _NAME, "minItems": 1, "maxItems": 8}],
        },
        "cpus": {"type": "number", "minimum": 0, "maximum": 1024},
        "memory": _SIZE,
        "disk": _SIZE,
        "throughput": {
            "description": "Relative speed by GPU type.",
            "type": "object",
            "propertyNames": _NAME,
            "additionalProperties": {"type": "number", "minimum": 0.01, "maximum": 1000},
        },
    },
)

_ROLE: Part = {
    "workers": {
        "description": "How many, or from `4..16` for an elastic job.",
        "oneOf": [
            _whole(1, GANG_WORKERS),
            {"type": "string", "pattern": r"^[1-9]\.\.[1-9][0-9]{1,2}$"},
        ],
        "examples": [2, "4..16"],
    },
    "resources": _RESOURCES,
    "run": {**_TEXT, "pattern": r"^[^\s\u0000][^\u0000]*$", "description": "The command that each worker runs."},
}

_DEPENDENCY = {
    "description": "A job that must have ended in some way first.",
    "oneOf": [
        {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,40}$"},
        _object(
            "Which, and how.",
            {
                "job": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,40}$"},
                "when": {"enum": [each.value for each in DependencyWhen]},
            },
            required=["job"],
        ),
    ],
}

JOB_FILE = _object(
    "A job file. Left out: `team` is `default`, `tier` is `standard`, `workers` is 1, and a job without `checkpoint` "
    "cannot resume.",
    {
        "name": {"type": "string", "pattern": f"^[a-z0-9-]{{1,{JOB_NAME_CHARS}}}$"},
        "team": {"type": "string", "pattern": "^[a-z]{1,9}(/[a-z]{1,9}){0,2}$", "examples": ["nlp/pretraining"]},
        "tier": {**_NAME, "examples": ["standard"]},
        "priority": _whole(0, PRIORITY_MAX, description="Inside its tier; higher goes first."),
        **_ROLE,
        "roles": {
            "description": "Instead of `workers`, `resources` and `run`: several kinds of workers by name.",
            "type": "object",
            "propertyNames": {"pattern": "^[a-z0-9_-]{1,63}$"},
            "additionalProperties": _object("One kind of worker.", _ROLE, required=["run"]),
        },
        "launch": {"enum": [each.value for each in Launch]},
        "setup": {**_TEXT, "description": "Runs once on each node before the workers start."},
        "workdir": {"type": "string", "pattern": r"^/[A-Za-z0-9/_.-]{0,100}$", "description": "An absolute path."},
        "interactive": _object("A terminal that people attach to.", {"idle_timeout": _DURATION}),
        "env": {
            "type": "object",
            "propertyNames": _VARIABLE,
            "additionalProperties": _TEXT,
            "maxProperties": ENTRIES_MAX,
        },
        "secrets": {"type": "array", "items": _VARIABLE, "maxItems": 20, "description": "Names, never values."},
        "parallelism": _object("How the model is split.", {"tensor": _whole(1, 64), "pipeline": _whole(1, 64)}),
        "topology": _object(
            "Where the gang must (`within`) or would rather (`prefer`) stay.",
            {"within": _NAME, "prefer": _NAME, "relax_after": _DURATION},
        ),
        "max_duration": _DURATION,
        "expected_duration": {**_DURATION, "description": "A hint that promises never rest on."},
        "checkpoint": _object(
            "How the job saves itself.",
            {
                "path": {"type": "string", "minLength": 1, "maxLength": 500, "pattern": r"^[^\u0000]*$"},
                "every": {"oneOf": [{"const": "auto"}, {"type": "string", "pattern": "^[1-9][0-9]{0,2}[smh]$"}]},
                "keep": _whole(1, CHECKPOINTS_KEPT_MAX),
                "grace": _DURATION,
            },
            required=["path"],
        ),
        "preemptible": {"type": "boolean"},
        "retry": _object(
            "Which failures of its own are tried again.",
            {
                "limit": _whole(0, RETRIES_MAX),
                "on": {"type": "array", "items": {"enum": [each.value for each in RetryCause]}},
            },
        ),
        "depends_on": {"type": "array", "items": _DEPENDENCY, "maxItems": 20},
        "array": {"type": "string", "pattern": r"^0-[1-9][0-9]?(%[1-9])?$", "examples": ["0-99%8"]},
        "tags": {"type": "object", "additionalProperties": _TEXT, "maxProperties": ENTRIES_MAX},
    },
    required=["name"],
    examples=[{"name": "train", "team": "nlp", "workers": 2, "resources": {"gpus": 8}, "run": "python train.py"}],
)
