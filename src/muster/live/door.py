"""Requests of users to the engine: checked, done, and audited with the user's name, all in one transaction.

Every front end calls these functions, so that no rule is forgotten. They run on the writer's thread, inside a batch.
"""

from collections.abc import Iterable

from muster.access.audit_entries import entry
from muster.access.principal import Principal
from muster.core.admission import Rejected
from muster.engine.engine import Engine, Submitted
from muster.formats.parts.wire import closest
from muster.model.array import ArrayRecord
from muster.model.errors import Conflict, InvalidInput, NeverRuns
from muster.model.ids import JobId, TeamPath
from muster.model.scenario import Rules
from muster.model.spec import DEFAULT_TEAM, JobSpec


def submit(
    engine: Engine,
    now_ms: int,
    who: Principal,
    spec: JobSpec,
    *,
    held: bool = False,
    key: str = "",
    fingerprint: str = "",
    judged_by: Rules | None = None,
) -> Submitted:
    """Accept a job that was judged by these admission rules.

    Raises `InvalidInput` or `NeverRuns` when it is not allowed or cannot run, and `RulesMoved` when the admission rules
    have changed since.
    """
    check_judged(judged_by, engine.rules)
    check_team(spec, engine.rules)
    answer = engine.submit(spec, now_ms, held=held, by=who.name, key=key, fingerprint=fingerprint)
    return _entered(engine, now_ms, who, answer, "jobs.submit")


def submit_again(
    engine: Engine,
    now_ms: int,
    who: Principal,
    job: JobId,
    *,
    reason: str = "",
    key: str = "",
    spec: JobSpec | None = None,
    judged_by: Rules | None = None,
) -> Submitted:
    """Submit a job again that has ended, or the failed tasks of an array; as `spec`, if rules have changed it."""
    check_judged(judged_by, engine.rules)
    answer = _again(engine, now_ms, who, job, key, spec)
    return _entered(engine, now_ms, who, answer, "jobs.retry", reason=reason, of=job)


class RulesMoved(Conflict):
    """The admission rules are not those that a job was judged by. It has to be judged again."""


def check_judged(judged_by: Rules | None, rules: Rules) -> None:
    """Raise unless these are the admission rules in force. No rules were asked where there are none."""
    if (() if judged_by is None else judged_by.admission) != rules.admission:
        raise RulesMoved("the admission rules changed while the job was judged; submit it again")


def check_team(spec: JobSpec, rules: Rules) -> None:
    """Raise unless the job's team exists."""
    check_team_exists(spec.team, rules)


def check_team_exists(team: TeamPath, rules: Rules) -> None:
    """Raise unless a team exists. The default team always exists; if no team was declared, all do."""
    known: Iterable[TeamPath] = [each.path for each in rules.teams]
    if known and team not in known and team != DEFAULT_TEAM:
        hint = closest(team, known)
        remedy = f"an operator makes it with `muster quota set {team} --weight 1`"
        raise InvalidInput("; ".join(part for part in (f"there is no team {team}", hint, remedy) if part))


def _again(
    engine: Engine, now_ms: int, who: Principal, job: JobId, key: str, spec: JobSpec | None
) -> Submitted | Rejected:
    record, fingerprint = engine.record(job), f"retry of {job}"
    if isinstance(record, ArrayRecord):
        answer = engine.retry_failed(job, now_ms, spec=spec, by=who.name, key=key, fingerprint=fingerprint)
        if answer is None:
            raise Conflict(f"no task of {job} has failed, so there is nothing to try again")
        return answer
    if not record.state.is_final:
        raise Conflict(f"{job} has not ended; cancel it first, or wait for its end")
    return engine.submit(spec or record.spec, now_ms, by=who.name, key=key, fingerprint=fingerprint)


def _entered(
    engine: Engine, now_ms: int, who: Principal, answer: Submitted | Rejected, action: str, **more: str
) -> Submitted:
    """Audit a new submission and return it; raises when the job was rejected."""
    if isinstance(answer, Rejected):
        raise NeverRuns(answer.code, answer.message)
    if answer.is_new:
        engine.audit(entry(who, now_ms, action, answer.job, **more))
    return answer
