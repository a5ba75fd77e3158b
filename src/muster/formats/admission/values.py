"""Keys of a job file inside a configuration: a mapping in the file, JSON text in the record."""

import json
from typing import Annotated, Any

from muster.formats.parts.kinds import Kind
from muster.formats.text.units import BadValue, shown

VALUES_CHARS = 16_384
"""The longest such mapping: a page of a job file, and no script."""


def values_text(value: object) -> str:
    """A mapping as text. Two mappings with the same keys in another order have the same text."""
    if not isinstance(value, dict) or not value:
        raise BadValue(f"must be a mapping of keys of the job file, not {shown(value)}", "such as {max_duration: 12h}")
    try:
        said = json.dumps(value, sort_keys=True)
    except (TypeError, ValueError):
        raise BadValue("holds values that no job file has", "text, numbers, lists and mappings") from None
    if len(said) > VALUES_CHARS:
        raise BadValue("is too long", f"up to {VALUES_CHARS} characters")
    return said


def values_of(kept: str) -> dict[str, Any]:
    """The mapping again."""
    found: dict[str, Any] = json.loads(kept) if kept else {}
    return found


Values = Annotated[str, Kind(read=values_text, write=values_of, schema={"type": "object"})]
