"""Admission rules and profiles: shown, replaced, changed one by one, and tried on the jobs of the past."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query

from muster.access.permissions import Permission
from muster.answers.admission import AdmissionTest
from muster.api.admission.checking import check_admission
from muster.api.admission.history import tried
from muster.api.authorized_changes import change, require
from muster.api.gate import Caller, Needs
from muster.api.parsing.merge_patch import patched
from muster.api.rendering.times import moment_ms
from muster.api.routes.error_responses import CHANGED, SEEN, errors
from muster.api.schemas import admission as schemas
from muster.api.schemas.rules import Changes
from muster.engine.engine import Engine
from muster.formats.admission.profiles import profiles_document, profiles_part
from muster.formats.admission.rules import NAME_CHARS, admission_document, admission_part
from muster.formats.text.document import Document, Problems
from muster.model.access import EVERY_TEAM
from muster.model.errors import NotFound
from muster.model.policy import AdmissionRule, Profile
from muster.model.records import evolve
from muster.model.scenario import Rules

router = APIRouter(tags=["rules"])

Sees = Annotated[Caller, Depends(Needs(Permission.CLUSTER_SEE))]
MayChange = Annotated[Caller, Depends(Needs(Permission.POLICY_CHANGE))]
RuleName = Annotated[str, Path(min_length=1, max_length=NAME_CHARS, description="Its name.")]
Before = Annotated[str | None, Query(max_length=NAME_CHARS, description="A rule that is asked after it.")]
ADMISSION, PROFILES = "admission", "profiles"


@router.get("/v1/admission", operation_id="show_admission", summary="Show the admission rules", responses=SEEN)
async def show_admission(caller: Sees) -> list[schemas.RuleDocument]:
    """The admission rules, in the order in which they are asked."""
    return admission_document(caller.deps.control.view.rules.admission)


@router.put("/v1/admission", operation_id="put_admission", summary="Replace the admission rules", responses=CHANGED)
async def put_admission(caller: MayChange, body: schemas.NewAdmission) -> list[schemas.RuleDocument]:
    """Replace all admission rules. Jobs that were submitted before are not asked again."""
    rules = _rules(body.root)
    await _change(caller, "admission.put", ADMISSION, lambda now: evolve(now, admission=rules))
    return await show_admission(caller)


@router.patch(
    "/v1/admission/{name}", operation_id="patch_admission_rule", summary="Change or add a rule", responses=CHANGED
)
async def patch_admission_rule(
    caller: MayChange, name: RuleName, body: Changes, before: Before = None
) -> list[schemas.RuleDocument]:
    """Change some settings of an admission rule. The others stay as they are; null means the default.

    A rule that does not exist is added, as the last or before another rule.
    """

    def wanted(now: Rules) -> Rules:
        rules = admission_document(now.admission)
        known = [each["name"] for each in rules]
        if before is not None and before not in known:
            raise NotFound(f"there is no admission rule {before!r}")
        old = rules.pop(known.index(name)) if name in known else {"name": name}
        place = known.index(name) if name in known else len(rules)
        if before is not None:
            place = next((at for at, each in enumerate(rules) if each["name"] == before), place)
        rules.insert(place, patched(old, {**body.root, "name": name}))
        return evolve(now, admission=_rules(rules))

    await _change(caller, "admission.patch", name, wanted)
    return await show_admission(caller)


@router.delete("/v1/admission/{name}", operation_id="delete_admission_rule", summary="Remove a rule", responses=CHANGED)
async def delete_admission_rule(caller: MayChange, name: RuleName) -> list[schemas.RuleDocument]:
    """Remove an admission rule."""

    def wanted(now: Rules) -> Rules:
        rest = tuple(rule for rule in now.admission if rule.name != name)
        if len(rest) == len(now.admission):
            raise NotFound(f"there is no admission rule {name!r}")
        return evolve(now, admission=rest)

    await _change(caller, "admission.patch", name, wanted)
    return await show_admission(caller)


@router.post(
    "/v1/admission-tests",
    operation_id="try_admission",
    summary="Try admission rules on earlier jobs",
    responses=errors(401, 403, 422, 429, 503),
)
async def try_admission(caller: MayChange, body: schemas.RulesToTry) -> AdmissionTest:
    """Say what rules would have done to the jobs that were submitted since then. Nothing is changed."""
    await require(caller, Permission.POLICY_CHANGE, EVERY_TEAM, action="admission.test", subject=ADMISSION)
    return await tried(caller.services, _rules(body.admission), since_ms=moment_ms(body.since))


@router.get("/v1/profiles", operation_id="show_profiles", summary="Show the profiles", responses=SEEN)
async def show_profiles(caller: Sees) -> schemas.ProfileDocuments:
    """The profiles by name, each with the keys of a job file that it fills in."""
    return profiles_document(caller.deps.control.view.rules.profiles)


@router.put("/v1/profiles", operation_id="put_profiles", summary="Replace the profiles", responses=CHANGED)
async def put_profiles(caller: MayChange, body: schemas.NewProfiles) -> schemas.ProfileDocuments:
    """Replace all profiles. Jobs that were submitted before keep what they had."""
    profiles = _profiles(body.root)
    await _change(caller, "profiles.put", PROFILES, lambda now: evolve(now, profiles=profiles))
    return await show_profiles(caller)


async def _change(caller: Caller, action: str, subject: str, wanted: Callable[[Rules], Rules]) -> None:
    await require(caller, Permission.POLICY_CHANGE, EVERY_TEAM, action=action, subject=subject)

    def put(engine: Engine, now_ms: int) -> None:
        engine.change_rules(wanted(engine.rules), now_ms, by=caller.name)

    await change(caller, action, subject, put)


def _rules(value: list[dict[str, Any]]) -> tuple[AdmissionRule, ...]:
    problems = Problems(Document(file=ADMISSION, value={ADMISSION: value}))
    rules = admission_part(value, problems, (ADMISSION,))
    problems.stop_if_any()
    check_admission(rules)
    return rules


def _profiles(value: dict[str, dict[str, Any]]) -> tuple[Profile, ...]:
    problems = Problems(Document(file=PROFILES, value={PROFILES: value}))
    profiles = profiles_part(value, problems, (PROFILES,))
    problems.stop_if_any()
    return profiles
