"""Plain values -> YAML text that `read_yaml` reads back as the same values, in the form in which people write it."""

from typing import Any

import yaml

from muster.formats.text.yaml_text import resolved

COLUMNS = 100


def yaml_of(document: object) -> str:
    """The document as YAML, in the order of its keys. Long texts are blocks."""
    return yaml.dump(document, Dumper=_Writer, sort_keys=False, allow_unicode=True, width=COLUMNS)


class _Writer(yaml.SafeDumper):
    """Quotes what would be read as something else than text, and shares nothing by aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None if isinstance(resolved(text), str) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Writer.add_representer(str, _text)
