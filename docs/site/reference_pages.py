"""The reference of the job file and of `muster.toml`, made from their declarations.

python -m docs.site.reference_pages    writes the pages in docs/reference; a test says when they are not current
"""

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, get_args

from pydantic import TypeAdapter

from muster.annotations import field_docs, marks, unmarked, without_none
from muster.formats.admission.rules import AdmissionRuleWire
from muster.formats.jobs.job_wire import JobWire, RoleWire
from muster.formats.parts.kinds import Kind
from muster.formats.parts.parts import Key, Part
from muster.formats.parts.wire import Wire
from muster.formats.rules.cluster_file import ClusterWire, NodeWire
from muster.formats.rules.configured_cluster import ClusterFileWire
from muster.formats.rules.container_rules import ContainersWire
from muster.formats.rules.engine_table import KINDS
from muster.formats.rules.rules import PolicyWire, PoolWire, TierWire
from muster.formats.rules.server_file import HealthWire, LocalWire, ServerWire
from muster.formats.rules.team_tree import TeamWire
from muster.formats.text.units import duration_text, plain_number
from muster.model.records import REQUIRED
from muster.model.resources import UNTRACKED

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reference"

_MADE = "<!-- Made by `python -m docs.site.reference_pages`; do not edit. -->"
_JOB_FILE = """\
What a job file may say, in YAML or JSON: `muster submit job.yaml`. Only `name` and `run` are required; a key that is
left out has its default. What is wrong in a file is refused with its line, all of it at once. `muster submit --dry-run`
says what would become of it."""
_SERVER_FILE = """\
What `muster up --config muster.toml` reads: TOML, or YAML with the same keys if the name ends so. Everything may be
left out. Rules (`teams`, `tiers`, `pools`, `policy`, `admission`, `profiles`) can also be changed while the server
runs: `muster config apply FILE` puts those of a file in force; `muster quota`, `policy`, `tiers`, `pools` and
`admission` change one setting. [The operator's guide](../guides/operate.md) says how both go together."""
_WORDS: Mapping[str, str] = {
    "text": "text",
    "command": "text",
    "server_address": "an address with its scheme",
    "host_name": "the name of a host",
    "name": "a name",
    "rule_name": "text without a slash",
    "message": "text",
    "values_text": "keys of a job file",
    "names": "a name, or a list of names",
    "job_name": "a-z, 0-9 and -, at most 63",
    "job_id": "the id of a job",
    "team_path": "a path such as `nlp/eval`",
    "duration_ms": "a duration: `90s 30m 12h 7d`",
    "positive_duration_ms": "a duration: `90s 30m 12h 7d`",
    "run_limit_ms": "a duration: `90s 30m 12h 7d`",
    "interval_ms": "`auto`, or a duration",
    "probe_every_ms": "a duration",
    "memory_bytes": "a size: `512GiB`, `1TB`",
    "gpu_milli": "a number",
    "cpu_milli": "a number",
    "milli": "a number",
    "positive_milli": "a number above 0",
    "share_milli": "a share, above 0 and at most 1",
    "decimal_gigabytes": "a number",
    "worker_range": "a number, or `4..16`",
    "node_names": "a name, or `n[1-16]`",
    "array_spec": "text such as `0-99%8`",
    "dependency": "an id, or `{job: ID, when: succeeded}`",
    "checkpoint_path": "a folder, or an address",
    "image_name": "the name of an image",
    "mount": "`{from: /data, to: /data, read_only: true}`",
    "pull_ms": "a duration",
    "bundle_id": "a SHA-256 in hexadecimal",
    "constraint": "labels, such as `a100 & (ib | roce)`",
    "nodes_named": "a name, `n[1-4]`, or a list of these",
    "begin": "a time, or a duration",
    "signal_name": "the name of a signal",
    "node_labels": "a list of labels",
}
"""What a value is, by the function that reads it."""
_WRITERS: Mapping[str, Callable[[int], object]] = {
    "probe_every_ms": duration_text,
    "pull_ms": duration_text,
    "share_milli": plain_number,
}
"""How a default is written, where the declaration itself does not say it."""


def reference_pages() -> dict[str, str]:
    """Both pages by their file names."""
    return {"JOB_FILE.md": job_file_page(), "MUSTER_TOML.md": server_file_page()}


def job_file_page() -> str:
    """Everything that a job file may say."""
    sections = [
        "# The job file",
        _MADE,
        _JOB_FILE,
        "```yaml\n" + (ROOT / "examples" / "job.yaml").read_text("utf-8") + "```",
        "## All keys",
        *_part("", JobWire, [JobWire]),
    ]
    return "\n\n".join(sections) + "\n"


def server_file_page() -> str:
    """Everything that `muster.toml` may say."""
    sections = [
        "# muster.toml",
        _MADE,
        _SERVER_FILE,
        "```toml\n" + (ROOT / "examples" / "cluster" / "muster.toml").read_text("utf-8") + "```",
        *_table("[server]", "Where and how to listen, and where to keep things.", ServerWire),
        *_table("[local]", "How this machine is used, if no cluster is described.", LocalWire),
        *_table(
            "[cluster]",
            "The nodes, written as in a scenario. They are virtual nodes of this machine and run real processes; what "
            "they have is what is written here, and the start says when that is more than the machine has.",
            ClusterWire,
            ClusterFileWire,
        ),
        *_table("cluster.nodes", 'One entry, besides a key for each level: `rack = "r1"`.', NodeWire, level=3),
        *_table("[health]", "How nodes are measured and judged; see [health](../HEALTH.md).", HealthWire),
        *_table("[containers]", "How nodes run [images](../guides/environments.md).", ContainersWire),
        "## [[engines]]",
        "What starts processes on some nodes, where this machine does not. Each kind has keys of its own.",
        *(text for kind, shape in KINDS.items() for text in _kind(kind, shape)),
        *_table("[teams.NAME]", "Teams and their quotas, as a tree. Amounts are GPUs by type, `*` for all.", TeamWire),
        *_table("[[tiers]]", "Classes of urgency, the most urgent first.", TierWire),
        *_table("[pools.NAME]", "Parts of the cluster with their own rules of entry.", PoolWire),
        *_table("[policy]", "How the scheduler decides.", PolicyWire),
        *_table(
            "[[admission]]",
            "Rules that jobs pass before they enter the queue; see [admission](../guides/admission.md).",
            AdmissionRuleWire,
        ),
        "## [profiles.NAME]",
        "Keys of the [job file](JOB_FILE.md) that `profile: NAME` in a job file fills in.",
    ]
    return "\n\n".join(sections) + "\n"


def _part(title: str, part: type[Part], shown: list[type[Part]]) -> Iterator[str]:
    """The keys of a part, and then the parts in it that were not shown yet."""
    if title:
        yield f"### {title}"
        yield " ".join((part.__doc__ or "").split("\n\n")[0].split())
    yield "\n".join(["| key | value | default | |", "|---|---|---|---|", *_rows(part)])
    for key in part.keys.values():
        inner = _inner(key.hint)
        if inner is not None and inner not in shown:
            shown.append(inner)
            yield from _part(f"{title}.{key.name}" if title else key.name, inner, shown)


def _table(title: str, said: str, *shapes: type[Part] | type[Wire], level: int = 2) -> Iterator[str]:
    yield f"{'#' * level} {title}"
    yield said
    rows = [row for shape in shapes for row in _rows(shape)]
    if len(shapes) > 1:
        rows = [row.replace("| required |", "|  |") for row in rows]  # keys of one shape are missing in the other
    yield "\n".join(["| key | value | default | |", "|---|---|---|---|", *rows])


def _kind(kind: str, shape: type[Wire]) -> Iterator[str]:
    """The keys of one kind of engine."""
    return _table(f'engines with `kind = "{kind}"`', " ".join((shape.__doc__ or "").split()), shape, level=3)


def _rows(shape: type[Part] | type[Wire]) -> Iterator[str]:
    if issubclass(shape, Part):
        told = field_docs(shape.record) | field_docs(shape)
        for key in shape.keys.values():
            said = next((told[name] for name in (key.name, *key.stored) if name in told), "")
            yield _row(key.name, key.hint, _default(shape, key), said)
        return
    docs = field_docs(shape)
    for name, info in shape.model_fields.items():
        hint = info.rebuild_annotation()
        value = None if info.is_required() else info.get_default(call_default_factory=True)
        yield _row(name, hint, "required" if info.is_required() else _written(hint, value), docs.get(name, ""))


def _row(name: str, hint: Any, default: str, said: str) -> str:
    cells = (f"`{name}`", _value(hint), default, said)
    return f"| {' | '.join(' '.join(cell.replace('|', chr(92) + '|').split()) for cell in cells)} |"


def _inner(hint: Any) -> type[Part] | None:
    """The part that a key holds, itself or under names."""
    for each in (unmarked(hint), *get_args(unmarked(hint))):
        if isinstance(each, type) and issubclass(each, Part):
            return each
    return None


def _value(hint: Any) -> str:
    """What may be written as a value."""
    reader = _reader(hint)
    if reader:
        return _WORDS[reader]
    kind = without_none(unmarked(hint))
    if marks(kind):
        return _value(kind)
    arguments = get_args(kind)
    origin = getattr(kind, "__origin__", kind)
    if origin is list:
        return "a list" if arguments[0] is Any else f"a list: {_value(arguments[0])}"
    if origin is dict:
        inner = _inner(kind)
        if arguments[1] is Any:
            return "a mapping of names to the same"
        return "a mapping of names to what is below" if inner else f"a mapping to {_value(arguments[1])}"
    if isinstance(kind, type) and issubclass(kind, Part):
        return "a mapping, below"
    if isinstance(kind, type) and issubclass(kind, Enum):
        return ", ".join(f"`{each.value}`" for each in kind)
    if isinstance(kind, type) and issubclass(kind, Wire):
        return "a mapping"
    schema = TypeAdapter(hint).json_schema() if kind is not Any else {}
    return _schema_words(schema)


def _schema_words(schema: Mapping[str, Any]) -> str:
    for each in schema.get("anyOf", ()):
        if each.get("type") != "null":
            return _schema_words(each)
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    bounds = [f"{word} {schema[key]}" for word, key in (("from", "minimum"), ("to", "maximum")) if key in schema]
    words = {"integer": "a whole number", "boolean": "`true` or `false`", "object": "a mapping", "string": "text"}
    return " ".join([words.get(schema.get("type", ""), ""), *bounds]).strip()


def _reader(hint: Any) -> str:
    """The name of the function that reads a value; empty when its type says all."""
    for mark in (*marks(hint), *marks(without_none(unmarked(hint)))):
        function = mark.read if isinstance(mark, Kind) else getattr(mark, "func", None)
        if function is not None and function.__name__ in _WORDS:
            return str(function.__name__)
    return ""


def _default(part: type[Part], key: Key) -> str:
    if key.name in part.required or key.default is REQUIRED:
        return "required"
    if part is JobWire and key.name in RoleWire.required:
        return "required without `roles`"
    if key.default is None or _inner(key.hint) is not None:
        return ""
    value = key.default if key.written is None else key.written(key.default)
    return _shown(value)


def _written(hint: Any, value: Any) -> str:
    """The default of a key of a model, as it would be written in a file."""
    if value is None or value == UNTRACKED:
        return ""
    write = _WRITERS.get(_reader(hint))
    return _shown(value if write is None else write(value))


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if value in ("", (), [], {}):
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(_shown(each) for each in value)
    return f"`{value.value if isinstance(value, Enum) else value}`"


def main() -> None:
    """Write the pages."""
    for name, text in reference_pages().items():
        (FOLDER / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
