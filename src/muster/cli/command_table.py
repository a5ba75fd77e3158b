"""Which file has which command, and what help says of it.

The file of a command is imported when the command is used. A command line that imported every command would spend most
of its time on the commands that were not typed; so would the list of all commands, which is therefore drawn from here.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import typer.main
from typer.core import TyperCommand

from muster.cli.terminal.listing import CLUSTER, JOBS, OFFLINE, SERVER
from muster.cli.terminal.plain_values import take_plain_values


class Listed(NamedTuple):
    """A command or a group of commands in the list of all."""

    file: str
    """Below `cli`."""
    panel: str
    help: str
    """The first paragraph of its own help."""


LISTED = {
    "submit": Listed("commands.submit", JOBS, "Submit jobs. Every file is checked before the first is sent."),
    "run": Listed(
        "commands.run",
        JOBS,
        "Run a command as a job and show its output. Ctrl-C cancels it; the exit code is that of the command.",
    ),
    "attach": Listed(
        "commands.attach",
        JOBS,
        "Type to an interactive job on this terminal, until it ends. Others who are attached see the same.",
    ),
    "exec": Listed(
        "commands.execute",
        JOBS,
        "Run a command beside a running worker, in its place. The exit code is that of the command.",
    ),
    "ps": Listed(
        "commands.jobs",
        JOBS,
        "List jobs: those that wait or run, or with --all, --since or --until those that ended too.",
    ),
    "show": Listed("commands.jobs", JOBS, "Show everything about a job."),
    "why": Listed("commands.jobs", JOBS, "Say why a job waits, what would help, and when it will start."),
    "story": Listed("commands.story", JOBS, "Tell how a job got where it is, oldest first."),
    "curve": Listed(
        "commands.curve", JOBS, "Draw the loss of a training over its steps, or another value that it hands over."
    ),
    "logs": Listed("commands.logs", JOBS, "Print what a worker printed; -f goes on until the job has ended."),
    "stacks": Listed("commands.stacks", JOBS, "Show the stacks of all ranks of a job."),
    "wait": Listed(
        "commands.wait",
        JOBS,
        "Wait until jobs have ended. The exit code is 1 when one failed, 6 when one was cancelled or time was up.",
    ),
    "cancel": Listed(
        "commands.changes", JOBS, "End jobs, whatever they are doing. An array ends with all of its tasks."
    ),
    "hold": Listed(
        "commands.changes", JOBS, "Keep jobs from starting until they are released. What runs goes on running."
    ),
    "release": Listed("commands.changes", JOBS, "Let held jobs start."),
    "requeue": Listed(
        "commands.changes", JOBS, "End what jobs run now and put them back into the queue. They save themselves first."
    ),
    "update": Listed("commands.changes", JOBS, "Change what jobs asked for."),
    "retry": Listed("commands.changes", JOBS, "Submit ended jobs once more; of an array, the tasks that failed."),
    "checkpoints": Listed("commands.checkpoints", JOBS, "What jobs have saved."),
    "top": Listed(
        "commands.top",
        CLUSTER,
        "Show how full the cluster is, what runs, and why jobs wait, live and with keys; ? shows them, q leaves.",
    ),
    "nodes": Listed("commands.nodes", CLUSTER, "List the nodes with their state and the GPUs in use."),
    "drain": Listed(
        "commands.nodes",
        CLUSTER,
        "Give nodes no new work. What runs there may end in its own time, or is told to leave with --evict.",
    ),
    "undrain": Listed("commands.nodes", CLUSTER, "Let nodes take work again."),
    "fence": Listed(
        "commands.nodes",
        CLUSTER,
        "Say that nodes which cannot be reached are off. What they ran is started elsewhere.",
    ),
    "health": Listed(
        "commands.health", CLUSTER, "Show how nodes and their GPUs are: their states, why, and what was measured."
    ),
    "teams": Listed(
        "commands.teams", CLUSTER, "Show the tree of teams with what each uses, is guaranteed and may use."
    ),
    "policy": Listed("commands.rules", CLUSTER, "How the scheduler decides."),
    "tiers": Listed("commands.rules", CLUSTER, "Classes of urgency, the most urgent first."),
    "pools": Listed("commands.rules", CLUSTER, "Parts of the cluster with their own rules of entry."),
    "admission": Listed("commands.admission", CLUSTER, "Rules that jobs pass before they enter the queue."),
    "profiles": Listed("commands.admission", CLUSTER, "Keys of a job file under names that jobs may give."),
    "config": Listed("commands.config", SERVER, "Compare a configuration with what is in force, and apply it."),
    "events": Listed(
        "commands.events", CLUSTER, "Print what happened to jobs and nodes; -f goes on with what happens from now on."
    ),
    "export": Listed(
        "commands.export",
        CLUSTER,
        "Write ended jobs as a trace: CSV, or with -o json a list of rows. The cluster is written beside the file.",
    ),
    "quota": Listed("commands.teams", CLUSTER, "Set what teams are guaranteed and may use."),
    "quarantine": Listed("commands.quarantine", CLUSTER, "What nodes run that the database does not know."),
    "reservation": Listed("commands.reservations", CLUSTER, "Nodes that are set aside for a team, a user or nobody."),
    "up": Listed(
        "server.up_and_down",
        SERVER,
        "Start Muster on this machine: its API on one port, and an engine that runs real processes.",
    ),
    "down": Listed(
        "server.up_and_down", SERVER, "Stop Muster on this machine. Jobs go on running unless --jobs is given."
    ),
    "demo": Listed(
        "server.demo",
        SERVER,
        "Start a cluster of virtual nodes, run a small mixed workload on it, and show what happens.",
    ),
    "open": Listed(
        "commands.browser", SERVER, "Open the dashboard in a browser. The link signs in once, and is good for a minute."
    ),
    "login": Listed(
        "commands.access",
        SERVER,
        "Use another server from now on. The token is checked, and kept where only you can read it.",
    ),
    "whoami": Listed("commands.access", SERVER, "Say which server is used, and as whom."),
    "audit": Listed("commands.audit", SERVER, "Show who did what, and check that nothing of it was changed."),
    "token": Listed("commands.access", SERVER, "Make, list and revoke tokens."),
    "agent": Listed("commands.agents", SERVER, "Connect machines elsewhere as nodes."),
    "slurm": Listed("commands.slurm", SERVER, "The commands of Slurm: sbatch, srun, squeue and others."),
    "plan": Listed(
        "commands.plan", OFFLINE, "Decide what would start, leave and wait in the situation that FILE describes."
    ),
    "simulate": Listed(
        "simulation.simulate",
        OFFLINE,
        "Replay a trace with the engine of the live system under a virtual clock, and compare policies.",
    ),
}
"""Every command and group of commands, in the order in which help shows them."""

FILES = {name: each.file for name, each in LISTED.items()}


class CommandTable(Mapping[str, Any]):
    """The commands by their names. Looking one up imports its file; the names alone import nothing."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made.update(commands_of(FILES[name]))
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(FILES)

    def __len__(self) -> int:
        return len(FILES)


def commands_of(file: str) -> dict[str, Any]:
    """The commands that a file lists, by their names."""
    program = typer.Typer()
    import_module(f"muster.cli.{file}").listing.install(program)
    made = dict(typer.main.get_group(program).commands)
    for command in made.values():
        for each in (command, *getattr(command, "commands", {}).values()):
            take_plain_values(each)
    return made


def listed_commands() -> dict[str, Any]:
    """Stand-ins for all commands, which have a name and a help and do nothing. They import nothing."""
    return {name: TyperCommand(name=name, help=each.help, rich_help_panel=each.panel) for name, each in LISTED.items()}
