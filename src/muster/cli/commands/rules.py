"""`muster policy`, `muster tiers` and `muster pools`: the rules in force, shown and changed one setting at a time."""

from collections.abc import Container, Mapping, Sequence
from typing import Annotated, Any

import typer

from muster.cli.terminal.amounts import pair
from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import CLUSTER, Listing
from muster.cli.terminal.options import Output, Printed
from muster.cli.terminal.screen import note, show, show_json

# ruff: noqa: PLC0415

Settings = Annotated[
    list[str],
    typer.Argument(metavar="KEY=VALUE…", help="Settings as in a scenario file; KEY=null is the default."),
]
TierName = Annotated[str, typer.Argument(metavar="TIER", help="The name of a tier.")]
PoolName = Annotated[str, typer.Argument(metavar="POOL", help="The name of a pool.")]
Before = Annotated[str | None, typer.Option(metavar="TIER", help="Put it before this less urgent tier; else last.")]

policy = typer.Typer(name="policy", help="How the scheduler decides.", no_args_is_help=True)
tiers = typer.Typer(name="tiers", help="Classes of urgency, the most urgent first.", no_args_is_help=True)
pools = typer.Typer(name="pools", help="Parts of the cluster with their own rules of entry.", no_args_is_help=True)

listing = Listing(CLUSTER)
listing.add_group(policy)
listing.add_group(tiers)
listing.add_group(pools)


@policy.command("show")
def show_policy(output: Printed = Output.TABLE) -> None:
    """Show all settings of the policy."""
    with connect() as client:
        _show_policy(client.policy(), output)


@policy.command("set")
def set_policy(settings: Settings, output: Printed = Output.TABLE) -> None:
    """Change settings of the policy from the next cycle on: min_runtime=5m turns=false. The others stay."""
    with connect() as client:
        _show_policy(client.patch_policy(changes_of(settings)), output)


@tiers.command("show")
def show_tiers(output: Printed = Output.TABLE) -> None:
    """Show all tiers, the most urgent first."""
    with connect() as client:
        _show_tiers(client.tiers(), output)


@tiers.command("set")
def set_tier(tier: TierName, settings: Settings, before: Before = None, output: Printed = Output.TABLE) -> None:
    """Change settings of a tier, or add a tier: preempts=true max_duration=12h. The others stay."""
    with connect() as client:
        is_new = tier not in [each["name"] for each in client.tiers()]
        _show_tiers(client.patch_tier(tier, changes_of(settings), before=before), output)
    if is_new:
        note(f"added the tier {tier}, which did not exist; `muster tiers remove {tier}` removes it")


@tiers.command("remove")
def remove_tier(tier: TierName, output: Printed = Output.TABLE) -> None:
    """Remove a tier that has no jobs and that no team or pool names."""
    with connect() as client:
        _show_tiers(client.delete_rule("tiers", tier), output)


@pools.command("show")
def show_pools(output: Printed = Output.TABLE) -> None:
    """Show all pools."""
    with connect() as client:
        _show_pools(client.pools(), output)


@pools.command("set")
def set_pool(pool: PoolName, settings: Settings, output: Printed = Output.TABLE) -> None:
    """Change settings of a pool, or add a pool: spot=true price=0.5 'tiers=[production]'. The others stay."""
    with connect() as client:
        is_new = pool not in client.pools()
        _show_pools(client.patch_pool(pool, changes_of(settings)), output)
    if is_new:
        note(f"added the pool {pool}, which did not exist; `muster pools remove {pool}` removes it")


@pools.command("remove")
def remove_pool(pool: PoolName, output: Printed = Output.TABLE) -> None:
    """Remove a pool with its rules. Nodes that are in it admit every job from then on."""
    with connect() as client:
        _show_pools(client.delete_rule("pools", pool), output)


def changes_of(settings: Sequence[str], *, texts: Container[str] = ()) -> dict[str, Any]:
    """`KEY=VALUE`, with values read as in a file: numbers, true and false, lists, mappings, text.

    The values of `texts` are taken as they are, because an expression may begin like something else in YAML.
    """
    from muster.formats.text.document import parse_document

    found: dict[str, Any] = {}
    for each in settings:
        key, value = pair(each, "settings")
        if key in texts and value != "null":
            found[key] = value
            continue
        # As the value of a key: a text by itself, such as `null`, would be an empty file.
        document: Any = parse_document(f"value: {value}", file=key).value
        found[key] = document["value"]
    return found


def _show_policy(found: Mapping[str, Any], output: Output) -> None:
    if output is Output.JSON:
        show_json(found)
    else:
        _table("setting", [(key, value) for key, value in found.items()], ("value",))


def _show_tiers(found: Sequence[Mapping[str, Any]], output: Output) -> None:
    if output is Output.JSON:
        show_json(found)
    else:
        headings = tuple(key for key in found[0] if key != "name")
        _table("tier", [(tier["name"], *(tier[key] for key in headings)) for tier in found], headings)


def _show_pools(found: Mapping[str, Mapping[str, Any]], output: Output) -> None:
    if output is Output.JSON:
        show_json(found)
    elif not found:
        note("there are no pools: every node admits every job; `muster pools set POOL` makes one")
    else:
        headings = tuple(next(iter(found.values())))
        _table("pool", [(name, *(pool[key] for key in headings)) for name, pool in found.items()], headings)


def _table(first: str, rows: Sequence[tuple[Any, ...]], headings: tuple[str, ...]) -> None:
    from muster.cli.drawing.table import TextTable

    made = TextTable(first, *headings)
    for row in rows:
        made.add_row(*map(value_text, row))
    show(made)


def value_text(value: Any) -> str:
    """A setting as people write it."""
    import json

    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value) or "-"
    return value if isinstance(value, str) else json.dumps(value)
