"""`muster teams` and `muster quota`: how much each team may use, and how much it uses."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muster.cli.terminal.amounts import pair
from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import CLUSTER, Listing
from muster.cli.terminal.options import Output, Printed, Quiet
from muster.cli.terminal.screen import note, screen, show, show_ids, show_json
from muster.model.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from muster.client.answers import Team

# ruff: noqa: PLC0415

NOTHING = "none"

TeamPath = Annotated[str, typer.Argument(metavar="TEAM", help="The path of a team: nlp/pretraining.")]
Amounts = Annotated[
    list[str] | None,
    typer.Option(metavar="TYPE=N,…", help="GPUs by type, * for all together; none takes it away."),
]
Weight = Annotated[float | None, typer.Option(min=0.001, help="Its part among its siblings.")]
MayUse = Annotated[str | None, typer.Option("--tiers", metavar="TIER,…", help="The only tiers that its jobs may use.")]
MaxPriority = Annotated[
    int | None, typer.Option("--max-priority", min=0, max=100, help="The highest priority that its jobs may have.")
]
Unpreemptible = Annotated[
    bool | None,
    typer.Option("--allow-unpreemptible/--no-unpreemptible", help="Whether its jobs may say preemptible: false."),
]

quota = typer.Typer(name="quota", help="Set what teams are guaranteed and may use.", no_args_is_help=True)

listing = Listing(CLUSTER)
listing.add_group(quota)


@listing.add
def teams(output: Printed = Output.TABLE, quiet: Quiet = False) -> None:
    """Show the tree of teams with what each uses, is guaranteed and may use."""
    with connect() as client:
        found = list(client.teams())
    if output is Output.JSON:
        show_json([team.document for team in found])
    elif quiet:
        show_ids(team.path for team in found)
    elif found:
        from muster.cli.drawing.team_tree import team_tree

        console = screen()
        show(team_tree(found, console), console)
        _warn(found)
    else:
        note("there are no teams: every team may use everything; `muster quota set TEAM` makes one")


@quota.command("set")
def set_quota(
    team: TeamPath,
    guaranteed: Amounts = None,
    limit: Amounts = None,
    weight: Weight = None,
    tiers: MayUse = None,
    max_priority: MaxPriority = None,
    allow_unpreemptible: Unpreemptible = None,
    output: Printed = Output.TABLE,
) -> None:
    """Make a team, or change its quota and what its jobs may ask for. What is not given stays as it is."""
    bounds = _bounds(tiers, max_priority, allow_unpreemptible)
    if guaranteed is None and limit is None and weight is None and not bounds:
        raise InvalidInput("nothing to change: give --guaranteed, --limit, --weight, --tiers or --max-priority")
    with connect() as client:
        changes = {
            "guaranteed": _amounts(guaranteed, "--guaranteed", lambda: client.team(team).guaranteed),
            "limit": _amounts(limit, "--limit", lambda: client.team(team).limit),
            "weight": weight,
        }
        given = {key: value for key, value in changes.items() if value is not None}
        changed = client.patch_team(team, **given, **bounds)
    if output is Output.JSON:
        show_json(changed.document)
    else:
        from muster.cli.drawing.team_tree import team_tree

        console = screen()
        show(team_tree([changed], console), console)
    _warn([changed])


@quota.command("remove")
def remove_quota(team: TeamPath, output: Printed = Output.TABLE) -> None:
    """Remove a team that has no active jobs."""
    with connect() as client:
        client.delete_team(team)
    if output is Output.JSON:
        show_json({"removed": team})
    else:
        show(f"{team} is removed")


def _bounds(tiers: str | None, max_priority: int | None, allow_unpreemptible: bool | None) -> dict[str, Any]:
    """What the jobs of a team may ask for, as far as the options say."""
    names = None if tiers is None else [name.strip() for name in tiers.split(",") if name.strip()]
    bounds = {"tiers": names, "max_priority": max_priority, "allow_unpreemptible": allow_unpreemptible}
    return {key: value for key, value in bounds.items() if value is not None}


def _amounts(
    said: Sequence[str] | None, option: str, known: Callable[[], dict[str, float]]
) -> dict[str, float | None] | None:
    """The changes that are asked for. `none` alone takes away every type that is known, `h100=none` one type."""
    if said is None:
        return None
    parts = [part for each in said for part in each.split(",") if part]
    if parts == [NOTHING]:
        try:
            return dict.fromkeys(known())
        except NotFound:
            return {}
    pairs = (_pair(part, option) for part in parts)
    return {gpu_type: None if value == NOTHING else _number(value, option) for gpu_type, value in pairs}


def _pair(part: str, option: str) -> tuple[str, str]:
    if part.replace(".", "", 1).isdecimal():
        raise InvalidInput(f"{option}: {part!r} of which type? Write {option} '*={part}' for all types together")
    return pair(part, option)


def _warn(teams: Sequence["Team"]) -> None:
    """Say what is doubtful about quotas, each thing once."""
    for warning in dict.fromkeys(warning for team in teams for warning in team.warnings):
        note(f"warning: {warning}")


def _number(text: str, option: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise InvalidInput(f"{option}: {text!r} is not a number of GPUs")
    return int(value) if value == int(value) else value
