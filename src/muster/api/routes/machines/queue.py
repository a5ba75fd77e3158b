"""The totals of the queue: how busy the cluster is."""

from typing import Annotated

from fastapi import APIRouter, Depends

from muster.access.permissions import Permission
from muster.api.gate import Caller, Needs
from muster.api.rendering.times import time_of
from muster.api.routes.error_responses import SEEN
from muster.api.schemas.queue import Crowd, GpuCount, Queue, TierCrowd
from muster.formats.text.units import plain_number

router = APIRouter(tags=["jobs"])


@router.get("/v1/queue", operation_id="show_queue", summary="Show how busy it is", responses=SEEN)
async def show_queue(caller: Annotated[Caller, Depends(Needs(Permission.CLUSTER_SEE))]) -> Queue:
    """How many jobs run and wait by tier and team, how many GPUs are in use, and the longest wait."""
    view = caller.deps.control.view
    counts = caller.services.counting.job_counts(view)
    teams = sorted({team for _, team in (*counts.running, *counts.waiting)})
    return Queue(
        running=counts.running.total(),
        waiting=counts.waiting.total(),
        oldest=time_of(min(counts.oldest_ms.values(), default=None)),
        tiers={
            tier.name: TierCrowd(
                running=sum(count for key, count in counts.running.items() if key[0] == tier.name),
                waiting=sum(count for key, count in counts.waiting.items() if key[0] == tier.name),
                oldest=time_of(counts.oldest_ms.get(tier.name)),
                preempts=tier.preempts,
            )
            for tier in view.rules.tiers
        },
        teams={
            team: Crowd(
                running=sum(count for key, count in counts.running.items() if key[1] == team),
                waiting=sum(count for key, count in counts.waiting.items() if key[1] == team),
            )
            for team in teams
        },
        gpus={
            gpu_type or "any": GpuCount(total=total, used=plain_number(counts.gpus_used_milli[gpu_type]))
            for gpu_type, total in sorted(counts.gpus.items())
        },
        nodes={state: count for state, count in sorted(counts.nodes.items()) if count},
        bad_gpus=counts.bad_gpus,
    )
