"""What trainings measure of themselves."""

import asyncio

from fastapi import APIRouter

from muster.answers.measures import Measure, RankPace
from muster.api.authorized_changes import visible
from muster.api.lookups.records import single
from muster.api.rendering.ranks import rank_paces
from muster.api.rendering.times import moment_of
from muster.api.routes.error_responses import FOUND
from muster.api.routes.jobs.jobs import JobPath, Sees
from muster.api.schemas.base import Page

router = APIRouter(tags=["jobs"])


@router.get(
    "/v1/jobs/{job}/measures",
    operation_id="list_measures",
    summary="List what a training measured of itself",
    responses=FOUND,
)
async def list_measures(caller: Sees, job: JobPath) -> Page[Measure]:
    """The loss and other values that a job with `muster.train` handed over, over all attempts, oldest first.

    Of very many, an even selection.
    """
    record = single(await visible(caller, job))
    found = await asyncio.to_thread(caller.deps.backend.measured_steps, record.id, record.attempt)
    items = [
        Measure(
            attempt=each.attempt,
            at=moment_of(each.at_ms),
            step=each.step,
            values=dict(each.values),
            no_numbers=each.no_numbers,
        )
        for each in found
    ]
    return Page(items=items, next=None)


@router.get(
    "/v1/jobs/{job}/ranks", operation_id="list_ranks", summary="List how fast the ranks of a job are", responses=FOUND
)
async def list_ranks(caller: Sees, job: JobPath) -> Page[RankPace]:
    """The step and the step time of each rank of a running training, by rank. Empty when its processes report none."""
    record = single(await visible(caller, job))
    return Page(items=rank_paces(record, caller.deps.progress(record.id)), next=None)
