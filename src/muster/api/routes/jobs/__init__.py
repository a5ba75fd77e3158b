"""What users do with jobs, and what they see of them.

submissions bundles   submitting, with what files, and what would happen
jobs starts           reading jobs, and when those that wait may start
story                 how a job got where it is
job_changes           cancelling, holding and changing it
checkpoints measures  what it has saved, and what it measures of itself
batch_steps           what a batch script started
logs stacks attach    what its workers print, what they are doing, and their terminals
"""

from muster.api.routes.jobs import (
    attach,
    batch_steps,
    bundles,
    checkpoints,
    job_changes,
    jobs,
    logs,
    measures,
    stacks,
    starts,
    story,
    submissions,
)

ROUTERS = (
    submissions.router,
    bundles.router,
    jobs.router,
    story.router,
    job_changes.router,
    checkpoints.router,
    measures.router,
    batch_steps.router,
    logs.router,
    stacks.router,
    starts.router,
    attach.router,
)
