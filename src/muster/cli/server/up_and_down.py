"""`muster up` and `muster down`: the server on this machine."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn
from urllib.parse import urlsplit

import typer

from muster.cli.terminal.listing import SERVER, Listing
from muster.cli.terminal.options import Output, Printed
from muster.cli.terminal.screen import note, screen, show, show_json
from muster.home import Home, home_folder
from muster.model.errors import Conflict, InvalidInput
from muster.processes import Ending, root_warning

if TYPE_CHECKING:
    from muster.client.address import Server

# ruff: noqa: PLC0415

Folder = Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where everything is kept; else ~/.muster.")]
Port = Annotated[int | None, typer.Option(min=0, max=65535, help="Where to listen; 0 takes any that is free.")]
Host = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Where to listen; else on this machine only.")]
Nodes = Annotated[str | None, typer.Option(metavar="NxG", help="Divide this machine: 4x8 is 4 nodes with 8 GPUs.")]
Config = Annotated[Path | None, typer.Option(metavar="FILE", help="muster.toml: the real thing.")]
Database = Annotated[str | None, typer.Option(metavar="URL", help="A PostgreSQL, without its password; else a file.")]
Certificate = Annotated[
    Path | None, typer.Option(metavar="FILE", exists=True, dir_okay=False, help="Speak TLS, with this certificate.")
]
PrivateKey = Annotated[Path | None, typer.Option(metavar="FILE", exists=True, dir_okay=False, help="Its private key.")]
InsecureBind = Annotated[
    bool, typer.Option("--insecure-bind", help="Listen to the network without TLS: something in front of it does that.")
]
TakeOver = Annotated[
    bool, typer.Option("--take-over", help="The database governed the nodes of another home: end what runs there.")
]
Fenced = Annotated[
    bool,
    typer.Option("--fenced", help="With --take-over: nothing runs there any more, though it cannot be seen from here."),
]
NewDatabase = Annotated[
    bool, typer.Option("--new-database", help="Go on although this machine runs what the database does not know.")
]
TakeLead = Annotated[
    bool, typer.Option("--take-lead", help="Where another control plane leads on this database: have it hand over.")
]
DropChanges = Annotated[
    bool | None,
    typer.Option(
        "--drop-changes/--keep-changes",
        help="Where the configuration and changes at run time disagree: take the configuration, or keep the changes.",
    ),
]
Detach = Annotated[bool, typer.Option("-d", "--detach", help="In the background; say so once it answers.")]
Jobs = Annotated[bool, typer.Option("--jobs", help="End everything that jobs run, too. `muster up` starts them again.")]

listing = Listing(SERVER)


@listing.add
def up(
    home: Folder = None,
    port: Port = None,
    host: Host = None,
    nodes: Nodes = None,
    config: Config = None,
    database: Database = None,
    tls_certificate: Certificate = None,
    tls_key: PrivateKey = None,
    insecure_bind: InsecureBind = False,
    take_over: TakeOver = False,
    fenced: Fenced = False,
    new_database: NewDatabase = False,
    take_lead: TakeLead = False,
    drop_changes: DropChanges = None,
    detach: Detach = False,
    output: Printed = Output.TABLE,
) -> None:
    """Start Muster on this machine: its API on one port, and an engine that runs real processes."""
    from muster.client.address import find_server
    from muster.formats.rules.database_url import refuse_password

    if database is not None:
        refuse_password(database)
    if config is not None and not config.exists():
        raise InvalidInput(f"--config: there is no file {config}")
    folder = (home or home_folder(os.environ)).expanduser().resolve()
    said = {
        "port": port,
        "host": host,
        "nodes": nodes,
        "config": config,
        "database": database,
        "tls-certificate": tls_certificate,
        "tls-key": tls_key,
    }
    options = {name: str(value) for name, value in said.items() if value is not None}
    asked = {"insecure-bind": insecure_bind, "take-over": take_over, "fenced": fenced, "new-database": new_database}
    asked |= {"take-lead": take_lead, "drop-changes": drop_changes is True, "keep-changes": drop_changes is False}
    flags = [f"--{name}" for name, is_asked in asked.items() if is_asked]
    command = [*serve_command({"home": str(folder), **options}), *flags]
    leader = find_server(folder)
    running = None if leader is not None and _is_to_stand_by(options, leader) else leader
    if not detach:
        _become(command, folder, running)
    from muster.cli.server.server_process import start_detached, start_warnings

    server = running or start_detached(command, folder, beside=leader)
    if running is None:
        for warning in filter(None, (root_warning(), *start_warnings(folder))):
            note(warning)
    if output is Output.JSON:
        show_json({"url": server.url, "pid": server.pid, "home": str(folder), "token_file": str(Home(folder).token)})
    else:
        _tell(server.url, folder, was_running=running is not None, is_default=home is None)
    if running is not None:
        _tell_unheeded(running, options | dict.fromkeys((flag.removeprefix("--") for flag in flags), ""))


def _is_to_stand_by(options: dict[str, str], leader: "Server") -> bool:
    """True when another control plane is to be started on a database that the running one shares with it."""
    from muster.formats.rules.database_url import VARIABLE, is_shared
    from muster.formats.rules.server_file import ServerSettings, read_server_file

    settings = read_server_file(options["config"]) if "config" in options else ServerSettings()
    database = options.get("database") or os.environ.get(VARIABLE) or settings.database or ""
    port = options.get("port") or settings.port
    return is_shared(database) and port is not None and int(port) != urlsplit(leader.url).port


def _become(command: list[str], folder: Path, running: "Server | None") -> NoReturn:
    """Replace this process by the server, which then has its signals and its terminal."""
    if running is not None:
        where = f"{running.url} (process {running.pid})"
        raise Conflict(f"the server of {folder} is running already, at {where}; `muster down` stops it")
    sys.stdout.flush()
    os.execv(command[0], command)


def _tell_unheeded(running: "Server", options: dict[str, str]) -> None:
    from muster.cli.server.server_process import unheeded

    without = [each for each in unheeded(running, options) if each != "--config"]
    if "config" in options:
        file = options["config"]
        note(
            f"nothing changed: the server is running already, and {file} is read when it starts; `muster config apply "
            f"{file}` puts its rules in force now, and `muster down`, then `muster up` everything in it"
        )
    if without:
        note(
            f"{', '.join(without)} had no effect: the server is running already; `muster down` first, then `muster up`"
        )


def serve_command(options: dict[str, str]) -> list[str]:
    """The command that starts the server with these options."""
    flags = [part for name, value in options.items() for part in (f"--{name}", value)]
    return [sys.executable, "-m", "muster.main", "serve", *flags]


def _tell(url: str, folder: Path, *, was_running: bool, is_default: bool) -> None:
    from rich.table import Table

    from muster.cli.terminal.text import Text

    made = Table.grid(padding=(0, 2, 0, 0))
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    made.add_row("url", Text(url, style="bold"))
    made.add_row("token", str(Home(folder).token))
    made.add_row("log", str(Home(folder).server_log))
    if not is_default:
        made.add_row("first", f"export MUSTER_HOME={folder}")
    made.add_row("try", "muster run -- echo hello")
    made.add_row("", "echo '{name: try, run: hostname}' | muster submit - --dry-run")
    made.add_row("", "muster top")
    show(Text("Muster was running already" if was_running else "Muster is running", style="green"))
    show(made, screen())
    login = _login_elsewhere(folder)
    if login:
        note(f"commands go to {login}, where you are logged in; `muster login --forget` brings them here")


def _login_elsewhere(folder: Path) -> str:
    from muster.client.address import read_record

    said = os.environ.get("MUSTER_URL") or read_record(Home(folder).login).get("url")
    return str(said or "")


@listing.add
def down(home: Folder = None, jobs: Jobs = False, output: Printed = Output.TABLE) -> None:
    """Stop Muster on this machine. Jobs go on running unless --jobs is given."""
    from muster.cli.server.server_process import STOP_S, end_server, run_down

    folder = (home or home_folder(os.environ)).expanduser().resolve()
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is not there; --home says where else")
    # --jobs asks to end everything, so a server that hangs is killed.
    ending = end_server(folder, then_kill=jobs)
    was_running = ending is not None
    if ending is Ending.KILLED:
        note(f"the server had not stopped after {STOP_S:.0f} s, and was killed")
    if jobs:
        run_down(_down_command(folder))
    if output is Output.JSON:
        show_json({"home": str(folder), "stopped": was_running, "jobs_ended": jobs})
    elif jobs:
        show("Muster is down, and nothing runs any more; `muster up` starts again what was not done")
    elif not was_running:
        note(f"no server is running for {folder}")
    else:
        show("Muster is down; jobs go on, and `muster up` finds them again")


def _down_command(folder: Path) -> Sequence[str]:
    return [sys.executable, "-m", "muster.main", "down", "--home", str(folder)]
