"""`muster audit`: who did what, and whether the record of it was changed."""

import json
import sys
from collections import deque
from pathlib import Path
from typing import Annotated, Any

import typer

from muster.cli.drawing.wording import moment
from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import SERVER, Listing
from muster.cli.terminal.options import Output, Printed
from muster.cli.terminal.screen import note, screen, show, show_json
from muster.model.errors import Corrupted, InvalidInput

# ruff: noqa: PLC0415

audit = typer.Typer(name="audit", help="Show who did what, and check that nothing of it was changed.")

listing = Listing(SERVER)
listing.add_group(audit)

Verify = Annotated[bool, typer.Option("--verify", help="Check that nothing was changed, dropped or put in between.")]
Last = Annotated[int, typer.Option("-n", "--tail", min=1, metavar="N", help="At most so many.")]
Against = Annotated[
    str | None,
    typer.Option("--against", metavar="FILE", help="What `muster audit head` printed before; - is standard input."),
]


@audit.callback(invoke_without_command=True)
def list_audit(ctx: typer.Context, verify: Verify = False, tail: Last = 50, output: Printed = Output.TABLE) -> None:
    """Show who did what, the latest last; --verify checks that nothing of it was changed."""
    if ctx.invoked_subcommand is not None:
        return
    with connect() as client:
        if verify:
            _report_verdict(client.verify_audit(), output)
            return
        found = deque(client.audit(), maxlen=tail)
    if output is Output.JSON:
        show_json([each.document for each in found])
        return
    from muster.cli.drawing.table import TextTable

    made = TextTable("number", "when", "who", "did", "to", "details", numbers=("number",), cut=("to", "details"))
    for each in found:
        told = [each.reason, *(f"{key} {value}" for key, value in each.detail.items() if value != "done")]
        made.add_row(str(each.seq), moment(each.at), each.by, each.action, each.subject, ", ".join(filter(None, told)))
    show(made, screen())


@audit.command("head")
def show_head(output: Printed = Output.TABLE) -> None:
    """Print where the audit ends, to be kept where nobody who can write the database can."""
    with connect() as client:
        head = client.audit_head()
    if output is not Output.JSON:
        note(
            f"the audit ends with entry {head.get('seq')}; keep this elsewhere for `muster audit verify --against FILE`"
        )
    show_json({"seq": head.get("seq"), "chain": head.get("chain")})


@audit.command("verify")
def verify_audit(against: Against = None, output: Printed = Output.TABLE) -> None:
    """Check that nothing was changed, dropped or put in between, also since the head was noted."""
    noted = None if against is None else _noted(against)
    with connect() as client:
        _report_verdict(client.verify_audit(noted), output)


def _noted(file: str) -> dict[str, Any]:
    """The head that was noted in a file."""
    where = "standard input" if file == "-" else file
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
        noted = json.loads(text)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{where}: {error}; give a file that `muster audit head` printed") from None
    if not isinstance(noted, dict) or not isinstance(noted.get("seq"), int) or not isinstance(noted.get("chain"), str):
        raise InvalidInput(f"{where}: there is no seq and chain; give a file that `muster audit head` printed")
    return {"seq": noted["seq"], "chain": noted["chain"]}


def _report_verdict(verdict: dict[str, Any], output: Output) -> None:
    if output is Output.JSON:
        show_json(verdict)
    else:
        show(f"{verdict.get('entries')} entries and {verdict.get('events')} events were looked at")
    if not verdict.get("whole"):
        raise Corrupted("what is kept is not what was written: " + "; ".join(verdict.get("problems") or ["unknown"]))
    if output is not Output.JSON:
        show("nothing was changed, dropped or put in between")
