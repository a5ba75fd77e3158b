"""The HTTP API as pages, from its OpenAPI document: one for each tag, one for the job file, one for all shapes."""

from collections.abc import Iterator, Mapping
from typing import Any

from muster.api.app import described

Document = Mapping[str, Any]

JOB_FILE = "JobFile"
_BOUNDS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} of them",
    "maxItems": "at most {} of them",
    "pattern": "matches `{}`",
    "default": "default `{}`",
}
_NAMED = {"string": "text", "integer": "integer", "number": "number", "boolean": "true or false", "null": "null"}


def api_pages() -> dict[str, str]:
    """An index, a page of operations for each tag, the job file, and what else is sent and answered."""
    document = described()
    tags = {tag["name"]: tag["description"] for tag in document["tags"]}
    operations = [
        (method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    pages = {
        tag: _page(tag, said, [each for each in operations if tag in each[2]["tags"]]) for tag, said in tags.items()
    }
    schemas = document["components"]["schemas"]
    others = {name: schema for name, schema in sorted(schemas.items()) if name != JOB_FILE}
    return {
        "index": _index(document, tags, operations),
        **pages,
        "job-file": _job_file(schemas[JOB_FILE]),
        "shapes": "\n".join(["# What is sent and answered", "", *_shapes(others)]),
    }


def _index(document: Document, tags: Mapping[str, str], operations: list[tuple[str, str, Document]]) -> str:
    intro = str(document["info"]["description"])
    lines = ["# API operations", "", intro, "", "Who may do what is in [the HTTP API](../../docs/API.md).", ""]
    for tag, said in tags.items():
        lines += [f"## {tag.capitalize()}", "", said, "", "| operation | what it does |", "|---|---|"]
        lines += [
            f"| {_called(method, path)} | [{operation['summary']}](#operation-{operation['operationId']}) |"
            for method, path, operation in operations
            if tag in operation["tags"]
        ]
        lines.append("")
    return "\n".join([*lines, "```{toctree}", ":hidden:", "", *tags, "job-file", "shapes", "```", ""])


def _called(method: str, path: str) -> str:
    return f"`{method.upper()}`{{.method .{method}}} `{path}`"


def _page(tag: str, said: str, operations: list[tuple[str, str, Document]]) -> str:
    lines = [f"# {tag.capitalize()}", "", said, ""]
    for method, path, operation in operations:
        lines += _operation(method, path, operation)
    return "\n".join(lines)


def _operation(method: str, path: str, operation: Document) -> Iterator[str]:
    yield from (f"(operation-{operation['operationId']})=", f"## {operation['summary']}", "")
    yield from (_called(method, path), "", str(operation.get("description", "")), "")
    parameters = operation.get("parameters", [])
    if parameters:
        yield from ("| parameter | in | type | what it says |", "|---|---|---|---|")
        for each in parameters:
            name = f"`{each['name']}`" + ("" if not each.get("required") or each["in"] == "path" else " (required)")
            yield f"| {name} | {each['in']} | {_type(each['schema'])} | {_said(each['schema'], each)} |"
        yield ""
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body is not None:
        yield from (f"Takes {_type(body['schema'])}.", "")
    yield from _answers(operation["responses"])


def _answers(responses: Document) -> Iterator[str]:
    good = {status: answer for status, answer in sorted(responses.items()) if status.startswith("2")}
    for status, answer in good.items():
        kinds = [_type(each.get("schema", {})) or f"`{kind}`" for kind, each in answer.get("content", {}).items()]
        what = " or ".join(kinds) or "nothing"
        told = "" if answer["description"] == "Successful Response" else f" {answer['description']}"
        yield from (f"**{status}**: {what}.{told}", "")
    bad = [f"{status}" for status in sorted(responses) if status not in good]
    if bad:
        yield from (f"Errors are a [Problem](#shape-Problem): {', '.join(bad)}.", "")


def _job_file(schema: Document) -> str:
    intro = (
        "What `muster submit` reads, as YAML, JSON or TOML, and what `POST /v1/jobs` takes as `job`. "
        "[examples/job.yaml](../../examples/job.yaml) has the usual keys."
    )
    parts = ["# The job file", "", intro, "", "(shape-JobFile)=", "## Keys", "", *_fields(schema)]
    for name, each in schema.get("$defs", {}).items():
        parts += _shape(name, each)
    return "\n".join(parts)


def _shapes(schemas: Mapping[str, Document]) -> Iterator[str]:
    for name, schema in schemas.items():
        yield from _shape(name, schema)


def _shape(name: str, schema: Document) -> Iterator[str]:
    yield from (f"(shape-{name})=", f"## {_spoken(name)}", "", str(schema.get("description", "")), "")
    if "enum" in schema:
        yield from (f"One of {_choices(schema)}.", "")
    elif "properties" in schema:
        yield from _fields(schema)
    else:
        yield from (f"{_type(schema).capitalize()}.", "")


def _fields(schema: Document) -> Iterator[str]:
    yield from ("| field | type | what it says |", "|---|---|---|", *_rows(schema, ""), "")


def _rows(schema: Document, above: str) -> Iterator[str]:
    """A row for each field, and behind it those of what it holds."""
    for name, each in schema.get("properties", {}).items():
        mark = " (required)" if name in schema.get("required", []) and _has_optional(schema) else ""
        yield f"| `{above}{name}`{mark} | {_type(each)} | {_said(each)} |"
        yield from _rows(each, f"{above}{name}.")
        for inner, way in ((each.get("items"), "[]."), (each.get("additionalProperties"), ".NAME.")):
            if isinstance(inner, dict):
                yield from _rows(inner, f"{above}{name}{way}")


def _has_optional(schema: Document) -> bool:
    """True where it says something that a field must be given: not in answers, which have all of them."""
    return len(schema.get("required", [])) < len(schema["properties"])


def _spoken(name: str) -> str:
    """`Page of Job` for `Page_Job_`."""
    return f"Page of {name.removeprefix('Page_').removesuffix('_')}" if name.startswith("Page_") else name


def _type(schema: Document) -> str:
    """What a value is, in words that link to its shape."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{_spoken(name)}](#shape-{name})"
    for union in ("anyOf", "oneOf", "allOf"):
        if union in schema:
            return " or ".join(dict.fromkeys(_type(each) for each in schema[union]))
    if "enum" in schema or "const" in schema:
        return _choices(schema)
    return _plain_type(schema)


def _plain_type(schema: Document) -> str:
    kind = schema.get("type", "")
    if isinstance(kind, list):
        return " or ".join(_plain_type({**schema, "type": each}) for each in kind)
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if kind == "object":
        inner = schema.get("additionalProperties")
        return f"object of {_type(inner)}" if isinstance(inner, dict) and inner else "object"
    return "time" if schema.get("format") == "date-time" else _NAMED.get(kind, str(kind))


def _choices(schema: Document) -> str:
    return ", ".join(f"`{each}`" for each in schema.get("enum", [schema.get("const")]))


def _said(schema: Document, beside: Document | None = None) -> str:
    """What is said of a value, and its bounds."""
    told = str((beside or {}).get("description") or schema.get("description") or "")
    bounds = [text.format(schema[key]) for key, text in _BOUNDS.items() if schema.get(key) not in (None, "", False)]
    example = [f"such as `{each}`" for each in schema.get("examples", [])[:1] if isinstance(each, str | int)]
    notes = "; ".join([*bounds, *example])
    return " ".join(f"{told} {f'({notes})' * bool(notes)}".replace("|", "\\|").split())
