"""Tiers, pools and the policy: whole lists, written as in a scenario file."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends

from muster.access.permissions import Permission
from muster.api.authorized_changes import change, require
from muster.api.gate import Caller, Needs
from muster.api.routes.error_responses import CHANGED, SEEN
from muster.api.schemas import rules as schemas
from muster.engine.engine import Engine
from muster.formats.rules.rules import policy_document, pools_document, tiers_document
from muster.formats.rules.team_tree import teams_document
from muster.formats.scenarios.references import read_references
from muster.formats.text.document import Document, Problems
from muster.model.access import EVERY_TEAM
from muster.model.closed_rules import with_tiers
from muster.model.records import evolve
from muster.model.scenario import Rules

router = APIRouter(tags=["rules"])

Sees = Annotated[Caller, Depends(Needs(Permission.CLUSTER_SEE))]
MayChange = Annotated[Caller, Depends(Needs(Permission.POLICY_CHANGE))]


@router.get("/v1/tiers", operation_id="show_tiers", summary="Show the tiers", responses=SEEN)
async def show_tiers(caller: Sees) -> list[schemas.Tier]:
    """The tiers, most urgent first."""
    return [schemas.Tier(**each) for each in tiers_document(_rules(caller).tiers)]


@router.put("/v1/tiers", operation_id="put_tiers", summary="Replace the tiers", responses=CHANGED)
async def put_tiers(caller: MayChange, body: schemas.NewTiers) -> list[schemas.Tier]:
    """Replace all tiers. A tier that still has jobs, or that a team names in its `tiers`, cannot be removed.

    A team that may use all tiers but the highest may still use all but the highest afterwards.
    """
    await _put(caller, "tiers", body.root, lambda rules, read: with_tiers(rules, read.tiers))
    return await show_tiers(caller)


@router.get("/v1/pools", operation_id="show_pools", summary="Show the pools", responses=SEEN)
async def show_pools(caller: Sees) -> dict[str, schemas.Pool]:
    """The pools by name. If there are none, every node admits every job."""
    return {name: schemas.Pool(**each) for name, each in pools_document(_rules(caller).pools).items()}


@router.put("/v1/pools", operation_id="put_pools", summary="Replace the pools", responses=CHANGED)
async def put_pools(caller: MayChange, body: schemas.NewPools) -> dict[str, schemas.Pool]:
    """Replace all pools. Running jobs stay where they are."""
    await _put(caller, "pools", body.root, lambda rules, read: evolve(rules, pools=read.pools))
    return await show_pools(caller)


@router.get("/v1/policy", operation_id="show_policy", summary="Show the policy", responses=SEEN)
async def show_policy(caller: Sees) -> schemas.Policy:
    """The policy with all of its settings."""
    return schemas.Policy(**policy_document(_rules(caller).policy))


@router.put("/v1/policy", operation_id="put_policy", summary="Replace the policy", responses=CHANGED)
async def put_policy(caller: MayChange, body: schemas.NewPolicy) -> schemas.Policy:
    """Replace the policy, from the next scheduling cycle on."""
    await _put(caller, "policy", body.root, lambda rules, read: evolve(rules, policy=read.policy))
    return await show_policy(caller)


def _rules(caller: Caller) -> Rules:
    return caller.deps.control.view.rules


async def _put(caller: Caller, part: str, value: object, merged: Callable[[Rules, Rules], Rules]) -> None:
    """Check one part against the other current rules, and put it in force."""
    action = f"{part}.put"
    await require(caller, Permission.POLICY_CHANGE, EVERY_TEAM, action=action, subject=part)

    def put(engine: Engine, now_ms: int) -> None:
        engine.change_rules(merged(engine.rules, _read(engine.rules, part, value)), now_ms, by=caller.name)

    await change(caller, action, part, put)


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
    return Rules(teams=rules.teams, tiers=read.tiers, pools=read.pools, policy=read.policy)
