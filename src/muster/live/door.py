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
) -> Submitted:
    """Accept a job. Raises `InvalidInput` or `NeverRuns` when it is not allowed or cannot run."""
    check_team(spec, engine.rules)
    answer = engine.submit(spec, now_ms, held=held, by=who.name, key=key, fingerprint=fingerprint)
    return _entered(engine, now_ms, who, answer, "jobs.submit")


def submit_again(
    engine: Engine, now_ms: int, who: Principal, job: JobId, *, reason: str = "", key: str = ""
) -> Submitted:
    """Submit a job again that has ended, or the failed tasks of an array."""
    answer = _again(engine, now_ms, who, job, key)
    return _entered(engine, now_ms, who, answer, "jobs.retry", reason=reason, of=job)


def check_team(spec: JobSpec, rules: Rules) -> None:
    """Raise unless the job's team exists. The default team always exists; if no team was declared, all do."""
    known: Iterable[TeamPath] = [team.path for team in rules.teams]
    if known and spec.team not in known and spec.team != DEFAULT_TEAM:
        hint = closest(spec.team, known)
        remedy = f"an operator makes it with `muster quota set {spec.team}`"
        raise InvalidInput("; ".join(part for part in (f"there is no team {spec.team}", hint, remedy) if part))


def _again(engine: Engine, now_ms: int, who: Principal, job: JobId, key: str) -> Submitted | Rejected:
    record, fingerprint = engine.record(job), f"retry of {job}"
    if isinstance(record, ArrayRecord):
        answer = engine.retry_failed(job, now_ms, by=who.name, key=key, fingerprint=fingerprint)
        if answer is None:
            raise Conflict(f"no task of {job} has failed, so there is nothing to try again")
        return answer
    if not record.state.is_final:
        raise Conflict(f"{job} has not ended; cancel it first, or wait for its end")
    return engine.submit(record.spec, now_ms, by=who.name, key=key, fingerprint=fingerprint)


def _entered(
    engine: Engine, now_ms: int, who: Principal, answer: Submitted | Rejected, action: str, **more: str
) -> Submitted:
    """Audit a new submission and return it; raises when the job was rejected."""
    if isinstance(answer, Rejected):
        raise NeverRuns(answer.code, answer.message)
    if answer.is_new:
        engine.audit(entry(who, now_ms, action, answer.job, **more))
    return answer
