"""A job as admission rules see it: the job file, with the defaults of what every job has."""

from typing import Any

from muster.formats.jobs.job_document import job_document
from muster.model.spec import JobSpec

_ALWAYS: dict[str, Any] = {
    "priority": 50,
    "preemptible": True,
    "exclusive": False,
    "launch": "plain",
    "env": {},
    "secrets": [],
    "tags": {},
    "resources": {},
}
"""Keys that `job` always has, so that a rule need not ask whether they are there."""


def job_view(spec: JobSpec) -> dict[str, Any]:
    """The job as a document. Keys without a usual value, such as `image`, are there only if the job has them."""
    found = {**_ALWAYS, "team": spec.team, "tier": spec.tier, **job_document(spec)}
    if len(spec.roles) > 1 or "roles" in found:
        found.pop("resources")
    return found
