"""`muster`: the commands and what their exit codes mean.

0 done · 1 the job failed · 2 wrong use or invalid file · 3 refused · 4 not found · 5 cannot reach the server ·
6 timed out or cancelled. An error that Muster raises on purpose becomes a message on stderr and one of these codes.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from muster import __version__
from muster.cli.command_table import CommandTable, listed_commands
from muster.cli.terminal.exits import Exit, exit_of_error
from muster.cli.terminal.plain_values import take_plain_values
from muster.cli.terminal.screen import note, show_text
from muster.model.compiling import is_compiled
from muster.model.errors import MusterError


class Commands(TyperGroup):
    """Turns errors into messages and exit codes, for every command alike."""

    def __init__(self, **settings: Any) -> None:
        """Every command is there by its name. Its file is imported when it is needed."""
        super().__init__(**{**settings, "commands": CommandTable()})
        take_plain_values(self)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """The names of all commands, in the order in which help shows them."""
        return list(self.commands)

    def make_context(self, *words: Any, **settings: Any) -> Any:
        """Read the command line. `--help` and `--version` are answered here."""
        try:
            return super().make_context(*words, **settings)
        except BrokenPipeError:
            _let_go_of_output()
            raise typer.Exit(Exit.DONE) from None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that is meant."""
        found = super().resolve_command(ctx, args)
        _show_no_values(found[1], ctx)
        return found

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands and options."""
        with self._only_listed():
            _show_no_values(self, ctx)
            super().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """The commands that begin with what was typed."""
        with self._only_listed():
            return super().shell_complete(ctx, incomplete)

    @contextmanager
    def _only_listed(self) -> Iterator[None]:
        """Have stand-ins in place of the commands, where all are named and none is run."""
        real = self.commands
        self.commands = listed_commands()
        try:
            yield
        finally:
            self.commands = real

    def invoke(self, ctx: Any) -> Any:
        """Run the command. A traceback means a bug, never wrong input.

        The context is a class of typer or of click, depending on the version of typer.
        """
        try:
            return super().invoke(ctx)
        except MusterError as error:
            note(str(error))
            raise typer.Exit(exit_of_error(error)) from None
        except BrokenPipeError:
            _let_go_of_output()
            raise typer.Exit(Exit.DONE) from None
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            note(f"{where}{error.strerror or error}")
            raise typer.Exit(Exit.WRONG_USE) from None
        except KeyboardInterrupt:
            note("cancelled")
            raise typer.Exit(Exit.CANCELLED) from None


app = typer.Typer(
    cls=Commands,
    name="muster",
    help="Schedules machine-learning training on shared accelerators.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_no_values(command: Any, ctx: Any) -> None:
    """Keep the help from showing a value for options that take none."""
    for each in (command, *getattr(command, "commands", {}).values()):
        for option in () if each is None else each.get_params(ctx):
            if getattr(option, "is_flag", False) and option.metavar is None:
                option.metavar = ""


def _let_go_of_output() -> None:
    """Send the rest of the output to /dev/null.

    The reader closed the pipe because it had enough. That is not an error.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _open_what_is_closed() -> None:
    """Open stdout and stderr on /dev/null if the caller closed them, which is not an error either."""
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            if nowhere != number:
                # Under its own number. Otherwise a file opened later would get this number and all that is printed.
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8"))


def _print_version(wanted: bool) -> None:
    if wanted:
        show_text(f"muster {__version__} ({'compiled' if is_compiled() else 'plain Python'})")
        raise typer.Exit


@app.callback()
def muster(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Schedules machine-learning training on shared accelerators."""


def main() -> None:
    """Run the command line."""
    _open_what_is_closed()
    for stream in (sys.stdout, sys.stderr):
        # Names and messages may hold characters that a plain terminal cannot show. That is no reason to fail.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        # The program is called `muster` also when it is run as a module.
        app(prog_name="muster")
    finally:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            _let_go_of_output()


if __name__ == "__main__":
    main()
