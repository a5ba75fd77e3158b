"""`JobSpec` -> a job file as plain values: the inverse of `job_file`.

Values equal to their defaults are left out, so that the document reads like one a person wrote. Reading it again gives
the same value.
"""

from muster.formats.jobs.job_file import ONLY_ROLE
from muster.formats.jobs.job_wire import JobWire, RoleWire
from muster.model.spec import JobSpec


def job_document(spec: JobSpec) -> dict[str, object]:
    """The job as a file would say it, in the order of the manual."""
    document = JobWire.document(spec)
    if len(spec.roles) != 1 or spec.roles[0].name != ONLY_ROLE:
        return document
    only = RoleWire.document(spec.roles[0])
    found: dict[str, object] = {}
    for key, value in document.items():
        if key == "roles":
            found.update(only)
        else:
            found[key] = value
    return found
