"""Where commands stand in `muster --help`: each file of commands lists its own."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import typer

JOBS = "Jobs"
CLUSTER = "Cluster"
SERVER = "Server and access"
OFFLINE = "Without a server"

CommandT = TypeVar("CommandT", bound=Callable[..., None])


class Listing:
    """The commands and the groups of commands of one file, in the order in which help shows them."""

    def __init__(self, panel: str, *, settings: Mapping[str, Any] | None = None) -> None:
        """They stand in this panel. `settings` say how their command lines are read, if not as usual."""
        self._panel = panel
        self._settings = None if settings is None else dict(settings)
        self._commands: list[Callable[..., None]] = []
        self._groups: list[typer.Typer] = []

    def add(self, command: CommandT) -> CommandT:
        """List a command, which has the name of its function."""
        self._commands.append(command)
        return command

    def add_group(self, group: typer.Typer) -> None:
        """List a group of commands under its own name."""
        self._groups.append(group)

    def install(self, app: typer.Typer) -> None:
        """Make everything that is listed a part of the program."""
        for command in self._commands:
            app.command(rich_help_panel=self._panel, context_settings=self._settings)(command)
        for group in self._groups:
            app.add_typer(group, rich_help_panel=self._panel)
