"""Admission rules tried on the jobs that were submitted before: what they would have refused, changed or warned of.

Jobs are read a page at a time and judged one by one, on threads and in a process of their own, so that submissions wait
for none of it. An array counts as one job.
"""

import asyncio
import time
from collections.abc import Sequence

from muster.answers.admission import AdmissionTest, TriedEffect
from muster.api.admission.judges import Judges
from muster.api.services import Services
from muster.formats.admission.job_view import job_view
from muster.formats.admission.judging import AskedJob, Judgement
from muster.formats.jobs.job_document import job_document
from muster.model.array import JobRecord
from muster.model.client_limits import ADMISSION_TEST_JOBS, ADMISSION_TEST_MS, ADMISSION_TEST_NAMED
from muster.model.limits import PAGE_ITEMS_MAX
from muster.model.policy import AdmissionRule, EffectKind
from muster.store.base import JobFilter

SUBJECT = "all"


class TriedJobs:
    """What was found so far."""

    def __init__(self) -> None:
        self.checked = 0
        self._named: dict[str, list[TriedEffect]] = {"denied": [], "changed": [], "warned": []}
        self._more = dict.fromkeys(self._named, 0)

    def take(self, job: JobRecord, judged: Judgement) -> None:
        """Note what rules said of a job."""
        self.checked += 1
        if judged.denial is not None:
            self._note(
                "denied", TriedEffect(job=job.id, rule=judged.denial.rule, message=judged.denial.message, keys=())
            )
        for effect in judged.effects:
            kind = "warned" if effect.kind is EffectKind.WARN else "changed"
            said = effect.message or f"sets {', '.join(effect.keys)}"
            self._note(kind, TriedEffect(job=job.id, rule=effect.rule, message=said, keys=effect.keys))

    def answer(self, *, complete: bool) -> AdmissionTest:
        """All of it."""
        named = {kind: tuple(each) for kind, each in self._named.items()}
        return AdmissionTest(checked=self.checked, **named, more=self._more, complete=complete)

    def _note(self, kind: str, effect: TriedEffect) -> None:
        if len(self._named[kind]) < ADMISSION_TEST_NAMED:
            self._named[kind].append(effect)
        else:
            self._more[kind] += 1


async def tried(services: Services, rules: tuple[AdmissionRule, ...], *, since_ms: int) -> AdmissionTest:
    """Try the rules on the jobs that were submitted then or later, the newest first."""
    services.trying.enter(SUBJECT)
    judges = Judges(count=1)
    try:
        return await _tried(services, judges, rules, since_ms)
    finally:
        services.trying.leave(SUBJECT)
        judges.close()


async def _tried(services: Services, judges: Judges, rules: tuple[AdmissionRule, ...], since_ms: int) -> AdmissionTest:
    found, before = TriedJobs(), None
    until_s = time.monotonic() + ADMISSION_TEST_MS / 1000
    while found.checked < ADMISSION_TEST_JOBS and time.monotonic() < until_s:
        filters, place = JobFilter(from_ms=since_ms), before
        page = await services.records.ask(
            lambda archive: archive.page(filters, limit=PAGE_ITEMS_MAX, before=place)  # noqa: B023 (called at once)
        )
        await asyncio.to_thread(_judge_all, judges, rules, page.jobs, found, until_s)
        if page.next is None:
            return found.answer(complete=time.monotonic() < until_s)
        before = page.next
    return found.answer(complete=False)


def _judge_all(
    judges: Judges, rules: tuple[AdmissionRule, ...], jobs: Sequence[JobRecord], found: TriedJobs, until_s: float
) -> None:
    for job in jobs:
        if time.monotonic() >= until_s:
            return
        spec = job.spec
        asked = AskedJob(
            given=job_document(spec), view=job_view(spec), user=job.user, team=spec.team, now_ms=job.submitted_ms
        )
        found.take(job, judges.judge(rules, asked))
