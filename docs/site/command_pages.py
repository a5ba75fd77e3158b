"""The command line as pages, from the commands themselves: one page for each panel of `muster --help`."""

import re
from collections.abc import Iterator
from typing import Any

import typer.main

from muster.cli.main import app

OTHER = "Other"
_OF_PYTHON = re.compile(r" <(list\[)?str\]?>")


def command_pages() -> dict[str, str]:
    """An index of all commands, and a page for each panel."""
    program: Any = typer.main.get_command(app)
    panels: dict[str, list[tuple[str, Any]]] = {}
    for name, command in program.commands.items():
        panels.setdefault(_panel(command), []).append((name, command))
    pages = {_file(panel): _page(panel, commands) for panel, commands in panels.items()}
    return {"index": _index(panels), **pages}


def _panel(command: Any) -> str:
    found = getattr(command, "rich_help_panel", None)
    return found if isinstance(found, str) else OTHER


def _file(panel: str) -> str:
    return panel.lower().replace(" ", "-")


def _index(panels: dict[str, list[tuple[str, Any]]]) -> str:
    lines = ["# Commands", "", "What holds for all of them is in [the command line](../../docs/COMMAND_LINE.md).", ""]
    for panel, commands in panels.items():
        lines += [f"## {panel}", "", "| command | what it does |", "|---|---|"]
        lines += [f"| [`muster {name}`](#command-{name}) | {_cell(_first(command))} |" for name, command in commands]
        lines.append("")
    return "\n".join([*lines, "```{toctree}", ":hidden:", "", *map(_file, panels), "```", ""])


def _first(command: Any) -> str:
    """What a command does, in its first sentence."""
    return str(command.help or "").strip().partition("\n\n")[0].replace("\n", " ")


def _page(panel: str, commands: list[tuple[str, Any]]) -> str:
    lines = [f"# {panel}", ""]
    for name, command in commands:
        lines += _section(f"muster {name}", f"command-{name}", command, level=2)
        for inner, each in getattr(command, "commands", {}).items():
            lines += _section(f"muster {name} {inner}", f"command-{name}-{inner}", each, level=3)
    return "\n".join(lines)


def _section(title: str, anchor: str, command: Any, *, level: int) -> Iterator[str]:
    yield from (f"({anchor})=", f"{'#' * level} {title}", "", str(command.help or "").strip(), "")
    context = command.context_class(command, info_name=title)
    usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    yield from ("```text", usage, "```", "")
    records = [each.get_help_record(context) for each in command.params if not getattr(each, "hidden", False)]
    rows = [f"| `{_code(names)}` | {_cell(said)} |" for names, said in filter(None, records)]
    if rows:
        yield from ("| argument or option | what it says |", "|---|---|", *rows, "")


def _code(names: str) -> str:
    """What is typed, without what Python calls it."""
    return " ".join(_OF_PYTHON.sub("", names).replace("<int range>", "N").replace("|", "\\|").split())


def _cell(text: str) -> str:
    """A text that can stand in a table."""
    return " ".join(text.replace("|", "\\|").replace("[", "\\[").split())
