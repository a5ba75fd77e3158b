"""A job on its way in: what admission rules say of it, and the job that follows from what they set.

Every submission passes here once, on the server: by the API, as a batch script, again, and as a dry run.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muster.api.admission.judges import Judges
from muster.formats.admission.job_view import job_view
from muster.formats.admission.judging import AskedJob, Denial
from muster.formats.jobs.job_document import job_document
from muster.formats.jobs.job_file import job_from_document
from muster.formats.text.document import Document
from muster.model.errors import Denied, InvalidInput
from muster.model.policy import EffectKind
from muster.model.records import evolve
from muster.model.scenario import Rules
from muster.model.spec import JobSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What became of a job, and the rules by which."""

    spec: JobSpec
    rules: Rules
    denial: Denial | None = None

    def refusal(self) -> Denied:
        """The error for a job that is refused."""
        assert self.denial is not None  # Callers look first.
        return Denied(self.denial.rule, self.denial.message)


async def entered(
    judges: Judges, rules: Rules, spec: JobSpec, *, user: str, now_ms: int, given: Mapping[str, Any] | None = None
) -> Entry:
    """Ask the rules about a job. `given` is its file; without it, what differs from the defaults counts as given."""
    if not rules.admission:
        return Entry(spec=evolve(spec, effects=()) if spec.effects else spec, rules=rules)
    asked = AskedJob(
        given=job_document(spec) if given is None else {**given, "team": spec.team},
        view=job_view(spec),
        user=user,
        team=spec.team,
        now_ms=now_ms,
    )
    found = await judges.judged(rules.admission, asked)
    effects = tuple(found.effects)
    if found.denial is not None:
        return Entry(spec=spec, rules=rules, denial=found.denial)
    setters = [each.rule for each in effects if each.kind is EffectKind.SET]
    if not setters:
        return Entry(spec=evolve(spec, effects=effects), rules=rules)
    return _read_again(spec, found.given, effects, setters, rules)


def _read_again(
    spec: JobSpec, given: Mapping[str, Any], effects: tuple[Any, ...], setters: list[str], rules: Rules
) -> Entry:
    """The job after rules have changed its file, checked like any other."""
    names = ", ".join(repr(name) for name in setters)
    try:
        after = job_from_document(Document(file="the job after admission rules", value=dict(given)), environment={})
    except InvalidInput as error:
        told = f"what it sets makes the job invalid: {error}; an operator has to repair the rule"
        return Entry(spec=spec, rules=rules, denial=Denial(rule=names.strip("'"), message=told))
    return Entry(spec=evolve(after, effects=effects), rules=rules)


def given_of(text: str) -> dict[str, Any] | None:
    """The job file that a reader passed on."""
    found: dict[str, Any] | None = json.loads(text) if text else None
    return found
