"""Sending a change to the writer: the permission check, the change, and its audit entry in the same transaction."""

from typing import TypeVar

from muster.access.audit_entries import entry
from muster.access.permissions import Permission
from muster.access.principal import may, needed_to_change
from muster.api.gate import Caller
from muster.engine.engine import Engine
from muster.live.inbox import Action
from muster.model.access import EVERY_TEAM
from muster.model.array import JobRecord
from muster.model.errors import NotFound, Refused
from muster.model.ids import JobId, TeamPath

T = TypeVar("T")


async def change(caller: Caller, action: str, subject: str, step: Action[T], *, reason: str = "", **more: str) -> T:
    """Have the writer make a change and its audit entry. Returns when both are durable."""

    def audited(engine: Engine, now_ms: int) -> T:
        outcome = step(engine, now_ms)
        engine.audit(entry(caller.principal, now_ms, action, subject, reason=reason, **more))
        return outcome

    return await caller.services.ask(audited)


async def require(caller: Caller, permission: Permission, team: TeamPath, *, action: str, subject: str) -> None:
    """Raise unless the caller has the permission on this team. A refused change is noted in the audit."""
    if may(caller.principal, permission, team):
        return
    await caller.services.note_denial(caller.principal, action, subject)
    where = "the whole cluster" if team == EVERY_TEAM else f"team {team}"
    raise Refused(f"{caller.name} may not do this: it needs {permission} on {where}")


async def visible(caller: Caller, job: str) -> JobRecord:
    """A job that the caller may see. A job that the caller may not see looks as if it did not exist."""
    record = await caller.services.records.find(JobId(job))
    if record is None or not caller.sees(record.spec.team):
        raise NotFound(f"there is no job {job}")
    return record


async def changeable(caller: Caller, job: str, action: str) -> JobRecord:
    """A job that the caller may change: an own job, or one of a team on which the caller has `JOBS_CHANGE_OTHERS`."""
    record = await visible(caller, job)
    permission = needed_to_change(caller.principal, record.user)
    await require(caller, permission, record.spec.team, action=action, subject=record.id)
    return record
