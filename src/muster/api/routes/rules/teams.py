"""Teams: their quotas, what they use, and changing quotas."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response

from muster.access.permissions import Permission
from muster.answers.teams import Team
from muster.api.authorized_changes import change, require
from muster.api.gate import Caller, Needs
from muster.api.lookups.paging import cursor_of, text_place
from muster.api.parsing.merge_patch import patched
from muster.api.rendering.teams import known_teams, team_body, team_figures
from muster.api.routes.error_responses import CHANGED, FOUND, SEEN
from muster.api.schemas.base import Page, Paging
from muster.api.schemas.teams import Quota, QuotaChanges
from muster.engine.engine import Engine
from muster.formats.parts.wire import ID_CHARS
from muster.formats.rules.rules import tiers_document
from muster.formats.rules.team_tree import TeamWire, teams_document
from muster.formats.scenarios.references import read_references
from muster.formats.text.document import Document, Problems
from muster.model import team as model
from muster.model.access import EVERY_TEAM
from muster.model.closed_rules import beyond_those_above, closed_teams
from muster.model.errors import Conflict, InvalidInput, NotFound
from muster.model.ids import TeamPath
from muster.model.records import evolve
from muster.model.scenario import Rules

router = APIRouter(tags=["rules"])

PathOfTeam = Annotated[
    str, Path(min_length=1, max_length=ID_CHARS, description="Its path in the tree.", examples=["nlp/pretraining"])
]
Sees = Annotated[Caller, Depends(Needs(Permission.CLUSTER_SEE))]
MayChange = Annotated[Caller, Depends(Needs(Permission.QUOTA_CHANGE))]
WantedTeam = Callable[[model.Team], dict[str, object]]
"""Given a team as it is, the keys that shall be different."""


@router.get("/v1/teams", operation_id="list_teams", summary="List teams", responses=SEEN)
async def list_teams(caller: Sees, paging: Annotated[Paging, Query()]) -> Page[Team]:
    """All teams by path, with their quotas and what they use."""
    view = caller.deps.control.view
    counts = caller.services.counting.job_counts(view)
    after = text_place("teams", paging.cursor)
    teams = [team for path, team in known_teams(view, counts).items() if after is None or path > after]
    figures = team_figures(view, counts, caller.deps.clock.now_ms())
    items = [team_body(team, figures) for team in teams[: paging.limit]]
    return Page(items=items, next=cursor_of("teams", items[-1].path) if len(teams) > paging.limit else None)


@router.get("/v1/teams/{path:path}", operation_id="show_team", summary="Show a team", responses=FOUND)
async def show_team(caller: Sees, path: PathOfTeam) -> Team:
    """A team, its quota and what it uses."""
    return _shown(caller, TeamPath(path))


@router.put("/v1/teams/{path:path}", operation_id="put_team", summary="Give a team its quota", responses=CHANGED)
async def put_team(caller: MayChange, path: PathOfTeam, body: Quota) -> Team:
    """Make a team, or replace its quota and weight.

    `tiers`, `max_priority` and `allow_unpreemptible` stay as they are when they are left out. A new team may use all
    tiers but the highest, and all its jobs are preemptible. A team cannot get more than the teams above it have.
    """
    wanted = {key: value for key, value in body.model_dump(exclude={"reason"}).items() if value is not None}
    return await _change_team(caller, TeamPath(path), lambda _: wanted, action="teams.put", reason=body.reason)


@router.patch("/v1/teams/{path:path}", operation_id="patch_team", summary="Change a quota", responses=CHANGED)
async def patch_team(caller: MayChange, path: PathOfTeam, body: QuotaChanges) -> Team:
    """Change some of what a team is guaranteed and may use, or make the team. What is not named stays as it is."""
    changes = {key: value for key, value in body.model_dump(exclude={"reason"}).items() if value is not None}

    def wanted(before: model.Team) -> dict[str, object]:
        return patched(TeamWire.complete(before), changes)

    return await _change_team(caller, TeamPath(path), wanted, action="teams.patch", reason=body.reason)


async def _change_team(caller: Caller, team: TeamPath, wanted: WantedTeam, *, action: str, reason: str) -> Team:
    """Make or change a team, checked with all others."""
    await require(caller, Permission.QUOTA_CHANGE, _parent(team), action=action, subject=team)
    if not caller.deps.control.view.rules.teams:
        # Without configured teams every team exists. The first one shuts out all others: that needs cluster permission.
        await require(caller, Permission.QUOTA_CHANGE, EVERY_TEAM, action=action, subject=team)

    def put(engine: Engine, now_ms: int) -> None:
        rules = engine.rules
        before = next((each for each in rules.teams if each.path == team), model.Team(path=team))
        others = [each for each in rules.teams if each.path != team]
        teams = closed_teams(_read(rules, [*others, before], team, wanted(before)), rules.tiers)
        _check_bounds(teams, team)
        engine.change_rules(evolve(rules, teams=teams), now_ms, by=caller.name)

    await change(caller, action, team, put, reason=reason)
    return _shown(caller, team)


@router.delete(
    "/v1/teams/{path:path}",
    operation_id="delete_team",
    summary="Remove a team",
    status_code=204,
    response_class=Response,
    responses=CHANGED,
)
async def delete_team(caller: MayChange, path: PathOfTeam) -> Response:
    """Remove a team that has no teams below it and no jobs that run or wait."""
    team = TeamPath(path)
    await require(caller, Permission.QUOTA_CHANGE, _parent(team), action="teams.delete", subject=team)

    def delete(engine: Engine, now_ms: int) -> None:
        rules = engine.rules
        _check_idle(engine, rules, team)
        teams = tuple(each for each in rules.teams if each.path != team)
        if not teams:
            raise Conflict(f"{team} is the last team; without any, every team exists and none is limited")
        engine.change_rules(evolve(rules, teams=teams), now_ms, by=caller.name)

    await change(caller, "teams.delete", team, delete)
    return Response(status_code=204)


def _parent(team: TeamPath) -> TeamPath:
    parent, slash, _ = team.rpartition("/")
    return TeamPath(parent) if slash else EVERY_TEAM


def _read(rules: Rules, teams: list[model.Team], team: TeamPath, wanted: dict[str, object]) -> tuple[model.Team, ...]:
    """The whole tree with the new team, checked like a tree that is read from a file."""
    tree = teams_document(teams)
    level, entry = tree, tree
    for name in team.split("/"):
        entry = level[name]
        level = entry["teams"]
    entry |= wanted
    parts = {"tiers": tiers_document(rules.tiers), "teams": tree}
    problems = Problems(Document(file="quota", value=parts))
    read = read_references(parts, problems)
    problems.stop_if_any()
    return read.teams


def _check_bounds(teams: tuple[model.Team, ...], path: TeamPath) -> None:
    team = next(each for each in teams if each.path == path)
    beyond = beyond_those_above(team, teams)
    if beyond is not None:
        raise InvalidInput(f"{beyond[0]}: {beyond[1]}; give the team above it as much first")


def _check_idle(engine: Engine, rules: Rules, team: TeamPath) -> None:
    if all(each.path != team for each in rules.teams):
        raise NotFound(f"there is no team {team}")
    below = next((each.path for each in rules.teams if each.path.startswith(team + "/")), None)
    if below is not None:
        raise Conflict(f"{team} has teams below it, such as {below}; remove those first")
    active = (job.id for job in engine.state.jobs.values() if job.spec.team == team and not job.state.is_final)
    if (busy := next(active, None)) is not None:
        raise Conflict(f"{team} has jobs that run or wait, such as {busy}; end those first")


def _shown(caller: Caller, team: TeamPath) -> Team:
    view = caller.deps.control.view
    counts = caller.services.counting.job_counts(view)
    known = known_teams(view, counts).get(team)
    if known is None:
        raise NotFound(f"there is no team {team}")
    return team_body(known, team_figures(view, counts, caller.deps.clock.now_ms()))
