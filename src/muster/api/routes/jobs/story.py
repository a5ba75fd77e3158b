"""How a job got into its state, in words."""

import asyncio
from collections.abc import Sequence
from heapq import merge
from typing import Annotated

from fastapi import APIRouter, Depends

from muster.access.permissions import Permission
from muster.answers.events import kind_of
from muster.answers.story import Sentence, Story
from muster.api.authorized_changes import visible
from muster.api.gate import Caller, Needs
from muster.api.problems.concealing import Concealing
from muster.api.rendering.times import moment_of
from muster.api.routes.error_responses import FOUND
from muster.api.routes.jobs.jobs import TASKS_AT_ONCE, JobPath
from muster.core.lifecycle.arrays import tasks_of
from muster.engine.story import sentences
from muster.engine.story.steps import StoryStep, turns
from muster.model.array import ArrayRecord
from muster.model.events import Event
from muster.model.ids import JobId
from muster.model.job import Job
from muster.model.limits import STORY_EVENTS, STORY_SENTENCES
from muster.store.base import EventPages

router = APIRouter(tags=["jobs"])

Numbered = Sequence[tuple[int, Event]]
"""Events, each with its version."""

Sees = Annotated[Caller, Depends(Needs(Permission.JOBS_SEE))]


@router.get("/v1/jobs/{job}/story", operation_id="tell_job", summary="Tell how a job got where it is", responses=FOUND)
async def tell_job(caller: Sees, job: JobPath) -> Story:
    """Everything that happened to a job or a task, in sentences.

    For an array: the events that concern all tasks, the first start, the failed tasks, and the end of the last task.
    """
    record = await visible(caller, job)
    events = caller.deps.events
    if isinstance(record, Job):
        told = await asyncio.to_thread(_of_job, events, record, caller.deps.control.view.version)
    else:
        said = await asyncio.to_thread(events.events_after, 0, STORY_EVENTS, record.id)
        told = sentences.told_of_array((event for _, event in said), await _tasks(caller, record))
    return _body(record.id, record.state, told, caller.deps.settings.conceal)


async def _tasks(caller: Caller, array: ArrayRecord) -> list[Job]:
    """The records of all tasks, read in batches."""
    tasks, found = tasks_of(array), list[Job]()
    for begin in range(0, len(tasks), TASKS_AT_ONCE):
        records = await caller.services.records.find_all(tasks[begin : begin + TASKS_AT_ONCE])
        found += [each for each in records.values() if isinstance(each, Job)]
    return found


def _of_job(events: EventPages, job: Job, version: int) -> tuple[sentences.Sentence, ...]:
    """The story from the job's events and the events of nodes in the same time."""
    named = [events.events_after(0, STORY_EVENTS, each) for each in (job.id, job.array_parent) if each is not None]
    own = list(merge(*named, key=_version))
    # Node events after the job's own last event matter only if the job had not ended: it may be lost with its node.
    lived = _lived(own, events.node_events_between(own[0][0], own[-1][0], STORY_EVENTS), job.id)
    if not lived[-1].after.state.is_final:
        lived = _lived(own, events.node_events_between(own[0][0], version, STORY_EVENTS), job.id)
    return sentences.told(lived)


def _lived(own: Numbered, nodes: Numbered, job: JobId) -> list[StoryStep]:
    return list(turns((event for _, event in merge(own, nodes, key=_version)), job))


def _version(numbered: tuple[int, Event]) -> int:
    return numbered[0]


def _body(job: JobId, state: str, told: tuple[sentences.Sentence, ...], conceal: Concealing) -> Story:
    left_out = max(0, len(told) - STORY_SENTENCES)
    kept = told if not left_out else (*told[:1], *told[left_out + 1 :])
    sentences = tuple(
        Sentence(
            at=moment_of(each.at_ms),
            kind=kind_of(each.event),
            state=each.state,
            text=conceal(each.text),
            times=each.times,
        )
        for each in kept
    )
    return Story(job=job, state=state, sentences=sentences, left_out=left_out)
