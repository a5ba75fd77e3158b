"""`muster open`: the dashboard in a browser, without pasting a token."""

import os
from typing import Annotated

import typer

from muster.cli.drawing.wording import moment
from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import SERVER, Listing
from muster.cli.terminal.options import Output, Printed
from muster.cli.terminal.screen import note, show, show_json

# ruff: noqa: PLC0415

listing = Listing(SERVER)

Print = Annotated[bool, typer.Option("--print", help="Only print the link; open no browser.")]


@listing.add
def open(print_only: Print = False, output: Printed = Output.TABLE) -> None:  # noqa: A001 (the name of the command)
    """Open the dashboard in a browser. The link signs in once, and is good for a minute."""
    with connect() as client:
        link = client.sign_in_link()
        address = client.url.rstrip("/") + link.path
    if output is Output.JSON:
        show_json({"url": address, "expires": link.document["expires"]})
        return
    show(address)
    if print_only or not _has_screen() or not _opened(address):
        note(f"open it in a browser; it signs in once, until {moment(link.expires)}")


def _has_screen() -> bool:
    """True when a browser can show itself to whoever typed this: not at the far end of a connection."""
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")) and "SSH_CONNECTION" not in os.environ


def _opened(address: str) -> bool:
    import webbrowser

    return webbrowser.open(address)
