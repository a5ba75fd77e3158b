"""What a column that no trace knows was probably meant to be."""

from collections.abc import Iterable
from difflib import get_close_matches

MEANT = {
    "job_id": ("id", "job", "jobid", "jobname", "jobnumber"),
    "submit_s": ("submit", "submitted", "submittime", "submissiontime", "arrival", "arrivaltime", "timestamp"),
    "duration_s": ("duration", "runtime", "runs", "elapsed", "walltime", "length", "durations", "elapsedtime"),
    "gpus": ("gpu", "numgpu", "numgpus", "ngpus", "gpunum", "gpucount", "gpucounts", "plangpu", "reqgpus"),
    "team": ("vc", "group", "project", "account", "department", "virtualcluster", "queue"),
    "user": ("userid", "username", "owner"),
    "gpu_type": ("gputype", "gpumodel", "accelerator"),
    "cpus": ("cpu", "numcpu", "numcpus", "ncpus", "cpunum", "plancpu"),
    "mem_gb": ("mem", "memory", "memorygb", "planmem", "memgib"),
    "max_duration_s": ("timelimit", "limit", "maxduration", "walltimelimit", "timelimits", "requestedtime"),
    "tier": ("qos", "partition"),
    "status": ("state", "exitstatus", "jobstate", "outcome"),
}
"""What other sources call the same thing, in small letters without anything else."""


def probably_meant(column: str, known: Iterable[str]) -> str | None:
    """The known column that this one probably should be; None if nothing comes to mind."""
    plain = "".join(each for each in column.lower() if each.isalnum())
    for name in known:
        if plain == name.replace("_", "") or plain in MEANT.get(name, ()):
            return name
    near = get_close_matches(column.lower(), list(known), n=1, cutoff=0.8)
    return near[0] if near else None
