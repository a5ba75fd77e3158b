"""States, reasons and exit codes in the words of Slurm. Pure."""

from muster.answers.jobs import Job, Why
from muster.model.job import Cause, JobState

SHORT = {
    "PENDING": "PD",
    "CONFIGURING": "CF",
    "RUNNING": "R",
    "SUSPENDED": "S",
    "COMPLETING": "CG",
    "COMPLETED": "CD",
    "CANCELLED": "CA",
    "FAILED": "F",
    "TIMEOUT": "TO",
    "NODE_FAIL": "NF",
    "PREEMPTED": "PR",
    "BOOT_FAIL": "BF",
    "DEADLINE": "DL",
    "OUT_OF_MEMORY": "OOM",
    "REQUEUED": "RQ",
    "REQUEUE_HOLD": "RH",
    "SPECIAL_EXIT": "SE",
    "STOPPED": "ST",
    "RESIZING": "RS",
    "REVOKED": "RV",
    "SIGNALING": "SI",
    "STAGE_OUT": "SO",
}
"""All states that Slurm has a word for, in the order in which squeue sorts them, with their short forms."""

_STATES = {
    JobState.BLOCKED: "PENDING",
    JobState.HELD: "PENDING",
    JobState.QUEUED: "PENDING",
    JobState.STARTING: "CONFIGURING",
    JobState.RUNNING: "RUNNING",
    JobState.CHECKPOINTING: "COMPLETING",
    JobState.STOPPING: "COMPLETING",
    JobState.SUCCEEDED: "COMPLETED",
    JobState.FAILED: "FAILED",
    JobState.CANCELLED: "CANCELLED",
    JobState.TIMED_OUT: "TIMEOUT",
}

_FAILURES = {Cause.OOM: "OUT_OF_MEMORY", Cause.NODE_FAILURE: "NODE_FAIL", Cause.PREEMPTED: "PREEMPTED"}

_WAITING = {
    "quota_limit": "AssocGrpGRES",
    "quota_borrow": "Priority",
    "held_by_others": "Priority",
    "pool": "PartitionConfig",
    "dependency": "Dependency",
    "held": "JobHeldUser",
    "node_health": "ReqNodeNotAvail",
    "reservation": "Reservation",
    "budget": "AssocGrpBillingMinutes",
    "never_fits": "BadConstraints",
    "constraint": "BadConstraints",
    "gpu_type": "BadConstraints",
    "user_limit": "QOSMaxGRESPerUser",
    "begin": "BeginTime",
    "image": "BadConstraints",
    "engine": "PartitionDown",
}
"""Reasons by their codes. All others are about room: `Resources`, or `Priority` for a job behind others."""

_ENDED = {
    "COMPLETED": "None",
    "FAILED": "NonZeroExitCode",
    "TIMEOUT": "TimeLimit",
    "OUT_OF_MEMORY": "OutOfMemory",
    "NODE_FAIL": "NodeDown",
}

SIGNALLED = 128
"""An exit code above this is that of a program which a signal ended."""
OUT_OF_MEMORY_SIGNAL = 125
"""What Slurm reports in the place of the signal for a job that ran out of memory."""


def state_of(job: Job) -> str:
    """The state of a job in full."""
    found = _STATES.get(JobState(job.state), "PENDING")
    if found in ("FAILED", "CANCELLED") and job.reason is not None:
        return _FAILURES.get(Cause(job.reason), found)
    return found


def is_state(word: str) -> bool:
    """True for a state in full or in short."""
    return word.upper() in SHORT or word.upper() in SHORT.values()


def full_state(word: str) -> str:
    """A state in full, from either form."""
    return next((state for state, short in SHORT.items() if word.upper() in (state, short)), word.upper())


def exit_pair(job: Job) -> tuple[int, int]:
    """The exit code and the signal of a job."""
    if state_of(job) == "OUT_OF_MEMORY":
        return 0, OUT_OF_MEMORY_SIGNAL
    if job.exit_code is None and state_of(job) == "FAILED":
        return 1, 0  # it could not be started
    return code_and_signal(job.exit_code or 0)


def code_and_signal(code: int) -> tuple[int, int]:
    """An exit code of a shell as Slurm shows it: a signal is apart."""
    return (0, code - SIGNALLED) if code > SIGNALLED else (code, 0)


def known_reason(job: Job) -> str | None:
    """Why a job waits or how it ended, as far as its record says; None when the server has to be asked."""
    state = state_of(job)
    if state != "PENDING":
        return _ENDED.get(state, "None")
    if job.held:
        return "JobHeldUser"
    if job.state == JobState.BLOCKED and job.depends_on:
        return "Dependency"
    if job.state == JobState.BLOCKED and job.array is not None:
        return "JobArrayTaskLimit"
    return None


def waiting_reason(why: Why) -> str:
    """Why a job waits, in the word that fits best."""
    if not why.reasons:
        return "None"
    code = str(why.reasons[0].code)
    return _WAITING.get(code) or ("Resources" if why.position in (None, 1) else "Priority")
