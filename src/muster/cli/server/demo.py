"""`muster demo`: a server with virtual nodes, a small mixed workload from three teams, and how it runs."""

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.drawing.wording import now
from muster.cli.server.up_and_down import serve_command
from muster.cli.terminal.listing import SERVER, Listing
from muster.cli.terminal.screen import screen, show
from muster.home import Home

if TYPE_CHECKING:
    from rich.console import RenderableType

    from muster.cli.server.demo_story import Scene
    from muster.client import Client
    from muster.client.answers import Job

# ruff: noqa: PLC0415

NODES = "4x8"
LOOK_S = 0.5
PATIENCE_S = 180
"""The story takes half a minute. After this time it is shown as far as it came."""

Stay = Annotated[bool | None, typer.Option(help="Keep the server until Ctrl-C; so it is on a terminal.")]

Training = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A program for torchrun to train with, instead of plain Python.")
]

listing = Listing(SERVER)


@listing.add
def demo(stay: Stay = None, training: Training = None) -> None:
    """Start a cluster of virtual nodes, run a small mixed workload on it, and show what happens."""
    from muster.cli.server.demo_story import story

    console = screen()
    home = Path(tempfile.mkdtemp(prefix="muster-demo-"))
    try:
        with _server(home) as client:
            _show_story(client, home, story(home / "checkpoints", training))
            _show_jobs(client)
            if console.is_terminal if stay is None else stay:
                _tell_what_next(client, home)
                _stay()
            else:
                show("\nThe demo is over, and its server is ended; `muster up -d --nodes 4x8` starts one that stays.")
    except KeyboardInterrupt:
        show("\nleaving: the server and all its jobs are ended")
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def _server(home: Path) -> "Iterator[Client]":
    """A server for the demo only. Afterwards it is ended, with everything that it started."""
    from muster.cli.server.demo_story import CONFIGURATION
    from muster.cli.server.server_process import end_server, run_down, start_detached
    from muster.client import Client

    (home / "checkpoints").mkdir()
    (home / "muster.toml").write_text(CONFIGURATION, "utf-8")
    options = {"home": str(home), "port": "0", "nodes": NODES, "config": str(home / "muster.toml")}
    show(f"Starting Muster with {NODES.replace('x', ' virtual nodes of ')} GPU slots under {home} …")
    try:
        server = start_detached(serve_command(options), home)
        with Client(server.url, Home(home).token.read_text("utf-8").strip()) as client:
            yield client
    finally:
        end_server(home, then_kill=True)
        run_down([sys.executable, "-m", "muster.main", "down", "--home", str(home)])


def _show_story(client: "Client", home: Path, scenes: "Sequence[Scene]") -> None:
    """Play scene after scene, and draw the cluster until everything has ended."""
    from rich.live import Live

    told: list[str] = []
    coming = list(scenes)
    console = screen()
    began = time.monotonic()
    with Live(console=console, auto_refresh=False, transient=True) as live:
        while time.monotonic() - began < PATIENCE_S:
            jobs = list(client.jobs())
            while coming and coming[0].is_time(jobs, now()):
                scene = coming.pop(0)
                if scene.job is not None:
                    client.submit(scene.job)
                if scene.strike is not None:
                    scene.strike(home, jobs)
                told.append(scene.told)
                if not console.is_terminal:
                    show(f"• {scene.told}")
            if jobs and all(job.is_final for job in jobs):
                break  # also when the training ended before all scenes had their moment
            if console.is_terminal:
                live.update(_picture(client, jobs, told), refresh=True)
            time.sleep(LOOK_S)


def _picture(client: "Client", jobs: "Sequence[Job]", told: Sequence[str]) -> "RenderableType":
    from rich.console import Group

    from muster.cli.terminal.text import Text
    from muster.cli.top.glance import Glance
    from muster.cli.top.still import frame

    console = screen()
    active = [job for job in jobs if not job.is_final]
    glance = Glance(url=client.url, present=now(), nodes=list(client.nodes()), jobs=active)
    lines = [Text(f"• {line}", style="cyan") for line in told]
    return Group(*lines, Text(), frame(glance, console, rows=console.height - len(lines) - 2))


def _show_jobs(client: "Client") -> None:
    from muster.cli.drawing.job_list import job_list
    from muster.cli.server.demo_story import TRAINING

    console = screen()
    jobs = sorted(client.jobs(), key=lambda job: (job.submitted is None, job.submitted, job.id))
    show(job_list([job for job in jobs if job.array is None], console, now()), console)
    trained = next((job for job in jobs if job.name == TRAINING), None)
    if trained is not None:
        _show_training(client, trained)


def _tell_what_next(client: "Client", home: Path) -> None:
    show(
        f"\nThe API is at {client.url}, and the dashboard will be there too. In another terminal:\n\n"
        f"  export MUSTER_HOME={home}\n"
        "  muster ps -a                      what ran, and how it ended\n"
        "  muster logs job-1                 what the gang printed\n"
        "  muster events                     everything that happened, from the log\n"
        "  muster run -- hostname            run something yourself\n"
        "  muster top                        the cluster, live\n"
    )


def _show_training(client: "Client", job: "Job") -> None:
    """How the training learnt, with its interruptions marked."""
    from muster.cli.commands.curve import drawn_points, resumed_at
    from muster.cli.drawing.curve import curve

    found = list(client.measures(job.id))
    if points := drawn_points(found, "loss"):
        show(f"\nThe loss of {job.id} over its steps; ↻ is where it was resumed:\n")
        show(curve(points, width=72, height=10, breaks=resumed_at(found)))
    stops = [
        f"preempted {job.preemptions} time{'s' * (job.preemptions > 1)}" * bool(job.preemptions),
        f"lost a node {job.node_failures} time{'s' * (job.node_failures > 1)}" * bool(job.node_failures),
    ]
    if any(stops):
        told = " and ".join(filter(None, stops))
        show(f"\n{job.id} was {told}, and went on where it had saved itself: `muster story {job.id}`")


def _stay() -> None:
    show("Ctrl-C ends the server and leaves nothing behind.")
    while True:
        time.sleep(1)
