"""`muster config`: a configuration file compared with what is in force, and put in force while the server runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muster.cli.commands.rules import value_text
from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import SERVER, Listing
from muster.cli.terminal.options import Because, Output, Printed
from muster.cli.terminal.screen import note, show, show_json

if TYPE_CHECKING:
    from muster.client.answers import Document

# ruff: noqa: PLC0415

File = Annotated[Path, typer.Argument(metavar="FILE", help="muster.toml.")]
DropChanges = Annotated[
    bool | None,
    typer.Option(
        "--drop-changes/--keep-changes",
        help="Drop everything that was changed at run time, or keep it also where the file changed the same.",
    ),
]

config = typer.Typer(
    name="config", help="Compare a configuration with what is in force, and apply it.", no_args_is_help=True
)

listing = Listing(SERVER)
listing.add_group(config)


@config.command("diff")
def diff(file: File, output: Printed = Output.TABLE) -> None:
    """Show where the file, what was configured last, and what was changed at run time differ. Nothing is changed."""
    parts = _parts(file)
    with connect() as client:
        _show(client.diff_config(parts), output, same=f"{file} is what is in force", becomes="would be")


@config.command("apply")
def apply(file: File, drop_changes: DropChanges = None, reason: Because = None, output: Printed = Output.TABLE) -> None:
    """Put the teams, tiers, pools and the policy of the file in force. What was changed at run time is kept.

    A setting that was changed both in the file and at run time is a conflict, unless an option says which of the two
    counts. Nodes and where the server listens change with `muster down` and `muster up --config FILE`.
    """
    parts = _parts(file) | ({} if reason is None else {"reason": reason})
    with connect() as client:
        found = client.apply_config(parts, changes=None if drop_changes is None else "drop" if drop_changes else "keep")
    _show(found, output, same="nothing changed", becomes="is now")


def _parts(file: Path) -> dict[str, Any]:
    """What of a file concerns a running server. What is wrong in it is said here, with its place."""
    from muster.formats.rules.server_file import read_server_file

    settings = read_server_file(file)
    cluster = {} if settings.cluster is None else {"cluster": settings.cluster.document}
    size = {} if settings.nodes is None else {"cluster": settings.nodes}
    return {**settings.parts, **cluster, **size}


def _show(found: "Document", output: Output, *, same: str, becomes: str) -> None:
    if output is Output.JSON:
        show_json(found)
        return
    if found["changes"]:
        _show_changes(found["changes"], becomes)
    elif not found["nodes"]:
        note(same)
    if found["nodes"]:
        told = "; ".join(found["nodes"])
        note(f"the nodes of the file are others ({told}): `muster down`, then `muster up --config`, changes them")
    for warning in found["warnings"]:
        note(f"warning: {warning}")


def _show_changes(changes: list[dict[str, Any]], becomes: str) -> None:
    from muster.cli.drawing.table import TextTable

    made = TextTable("setting", "changed by", "configured", "in force", "file", becomes, cut=("setting",))
    for change in changes:
        author = "both: conflict" if change["changed_by"] == "both" else change["changed_by"]
        values = (change[key] for key in ("configured", "now", "file", "becomes"))
        made.add_row(change["setting"], author, *("-" if value is None else _short(value) for value in values))
    show(made)


def _short(value: Any) -> str:
    """A setting in a cell: of a whole team or pool only that it is there, of tiers their names."""
    if isinstance(value, dict):
        return "{…}"
    is_tiers = isinstance(value, list) and any(isinstance(each, dict) for each in value)
    return value_text([each["name"] for each in value] if is_tiers else value)
