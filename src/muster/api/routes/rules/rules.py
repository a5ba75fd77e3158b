"""Tiers, pools and the policy, written as in a scenario file: replaced as a whole, or changed one setting at a time."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query

from muster.access.permissions import Permission
from muster.api.authorized_changes import change, require
from muster.api.gate import Caller, Needs
from muster.api.parsing.merge_patch import patched
from muster.api.routes.error_responses import CHANGED, SEEN
from muster.api.schemas import rules as schemas
from muster.engine.engine import Engine
from muster.formats.parts.wire import ID_CHARS
from muster.formats.rules.rules import policy_document, pools_document, tiers_document
from muster.formats.rules.team_tree import teams_document
from muster.formats.scenarios.references import read_references
from muster.formats.text.document import Document, Problems
from muster.model.access import EVERY_TEAM
from muster.model.closed_rules import with_tiers
from muster.model.errors import NotFound
from muster.model.records import evolve
from muster.model.scenario import Rules

router = APIRouter(tags=["rules"])

Sees = Annotated[Caller, Depends(Needs(Permission.CLUSTER_SEE))]
MayChange = Annotated[Caller, Depends(Needs(Permission.POLICY_CHANGE))]
PartName = Annotated[str, Path(min_length=1, max_length=ID_CHARS, description="Its name.")]
Before = Annotated[str | None, Query(max_length=ID_CHARS, description="A less urgent tier, which comes after it.")]
Tiers = list[schemas.Tier]


@router.get("/v1/tiers", operation_id="show_tiers", summary="Show the tiers", responses=SEEN)
async def show_tiers(caller: Sees) -> Tiers:
    """The tiers, most urgent first."""
    return [schemas.Tier(**each) for each in tiers_document(_rules(caller).tiers)]


@router.put("/v1/tiers", operation_id="put_tiers", summary="Replace the tiers", responses=CHANGED)
async def put_tiers(caller: MayChange, body: schemas.NewTiers) -> Tiers:
    """Replace all tiers. A tier that still has jobs, or that a team names in its `tiers`, cannot be removed.

    A team that may use all tiers but the highest may still use all but the highest afterwards.
    """
    await _put(caller, "tiers", body.root)
    return await show_tiers(caller)


@router.get("/v1/pools", operation_id="show_pools", summary="Show the pools", responses=SEEN)
async def show_pools(caller: Sees) -> dict[str, schemas.Pool]:
    """The pools by name. If there are none, every node admits every job."""
    return {name: schemas.Pool(**each) for name, each in pools_document(_rules(caller).pools).items()}


@router.put("/v1/pools", operation_id="put_pools", summary="Replace the pools", responses=CHANGED)
async def put_pools(caller: MayChange, body: schemas.NewPools) -> dict[str, schemas.Pool]:
    """Replace all pools. Running jobs stay where they are."""
    await _put(caller, "pools", body.root)
    return await show_pools(caller)


@router.get("/v1/policy", operation_id="show_policy", summary="Show the policy", responses=SEEN)
async def show_policy(caller: Sees) -> schemas.Policy:
    """The policy with all of its settings."""
    return schemas.Policy(**policy_document(_rules(caller).policy))


@router.put("/v1/policy", operation_id="put_policy", summary="Replace the policy", responses=CHANGED)
async def put_policy(caller: MayChange, body: schemas.NewPolicy) -> schemas.Policy:
    """Replace the policy, from the next scheduling cycle on."""
    await _put(caller, "policy", body.root)
    return await show_policy(caller)


@router.patch("/v1/policy", operation_id="patch_policy", summary="Change the policy", responses=CHANGED)
async def patch_policy(caller: MayChange, body: schemas.Changes) -> schemas.Policy:
    """Change some settings of the policy. The others stay as they are; null means the default."""
    await _patch(caller, "policy", lambda rules: patched(policy_document(rules.policy), body.root))
    return await show_policy(caller)


@router.patch("/v1/tiers/{name}", operation_id="patch_tier", summary="Change or add a tier", responses=CHANGED)
async def patch_tier(caller: MayChange, name: PartName, body: schemas.Changes, before: Before = None) -> Tiers:
    """Change some settings of a tier. The others stay as they are; null means the default.

    A tier that does not exist is added, as the least urgent or before another tier.
    """

    def wanted(rules: Rules) -> list[dict[str, Any]]:
        tiers = tiers_document(rules.tiers)
        known = [tier["name"] for tier in tiers]
        if before is not None and before not in known:
            raise NotFound(f"there is no tier {before}")
        old = tiers.pop(known.index(name)) if name in known else {"name": name}
        place = known.index(name) if name in known else len(tiers)
        if before is not None:
            place = next((at for at, tier in enumerate(tiers) if tier["name"] == before), place)
        tiers.insert(place, patched(old, {**body.root, "name": name}))
        return tiers

    await _patch(caller, "tiers", wanted, subject=name)
    return await show_tiers(caller)


@router.delete("/v1/tiers/{name}", operation_id="delete_tier", summary="Remove a tier", responses=CHANGED)
async def delete_tier(caller: MayChange, name: PartName) -> Tiers:
    """Remove a tier that has no jobs and that no team or pool names."""

    def wanted(rules: Rules) -> list[dict[str, Any]]:
        rest = [tier for tier in tiers_document(rules.tiers) if tier["name"] != name]
        if len(rest) == len(rules.tiers):
            raise NotFound(f"there is no tier {name}")
        return rest

    await _patch(caller, "tiers", wanted, subject=name)
    return await show_tiers(caller)


@router.patch("/v1/pools/{name}", operation_id="patch_pool", summary="Change or add a pool", responses=CHANGED)
async def patch_pool(caller: MayChange, name: PartName, body: schemas.Changes) -> dict[str, schemas.Pool]:
    """Change some settings of a pool, or add it. The others stay as they are; null means the default."""

    def wanted(rules: Rules) -> dict[str, Any]:
        pools = pools_document(rules.pools)
        return {**pools, name: patched(pools.get(name, {}), body.root)}

    await _patch(caller, "pools", wanted, subject=name)
    return await show_pools(caller)


@router.delete("/v1/pools/{name}", operation_id="delete_pool", summary="Remove a pool", responses=CHANGED)
async def delete_pool(caller: MayChange, name: PartName) -> dict[str, schemas.Pool]:
    """Remove a pool with its rules. Nodes that are in it admit every job from then on."""

    def wanted(rules: Rules) -> dict[str, Any]:
        pools = pools_document(rules.pools)
        if pools.pop(name, None) is None:
            raise NotFound(f"there is no pool {name}")
        return pools

    await _patch(caller, "pools", wanted, subject=name)
    return await show_pools(caller)


def _rules(caller: Caller) -> Rules:
    return caller.deps.control.view.rules


async def _put(caller: Caller, part: str, value: object) -> None:
    """Check one part against the other current rules, and put it in force."""
    await _change(caller, part, lambda _rules: value, action=f"{part}.put", subject=part)


async def _patch(caller: Caller, part: str, wanted: Callable[[Rules], object], *, subject: str = "") -> None:
    """Make what one part shall be from what it is, check it, and put it in force."""
    await _change(caller, part, wanted, action=f"{part}.patch", subject=subject or part)


async def _change(caller: Caller, part: str, wanted: Callable[[Rules], object], *, action: str, subject: str) -> None:
    await require(caller, Permission.POLICY_CHANGE, EVERY_TEAM, action=action, subject=subject)

    def put(engine: Engine, now_ms: int) -> None:
        rules = engine.rules
        engine.change_rules(_MERGED[part](rules, _read(rules, part, wanted(rules))), now_ms, by=caller.name)

    await change(caller, action, subject, put)


_MERGED: dict[str, Callable[[Rules, Rules], Rules]] = {
    "tiers": lambda rules, read: with_tiers(rules, read.tiers),
    "pools": lambda rules, read: evolve(rules, pools=read.pools),
    "policy": lambda rules, read: evolve(rules, policy=read.policy),
}
"""How the rules in force take over one part of what was read."""


def _read(rules: Rules, part: str, value: object) -> Rules:
    if part == "tiers":
        tiers = read_references({part: value}, Problems(Document(file=part, value={part: value}))).tiers
        rules = with_tiers(rules, tiers)
    parts = {
        "tiers": tiers_document(rules.tiers),
        "pools": pools_document(rules.pools) or None,
        "teams": teams_document(rules.teams) or None,
        part: value,
    }
    problems = Problems(Document(file=part, value=parts))
    read = read_references(parts, problems)
    problems.stop_if_any()
    return evolve(rules, tiers=read.tiers, pools=read.pools, policy=read.policy)
