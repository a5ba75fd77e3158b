"""A process that reads job files for a server, one after another, until the server closes the pipe.

It has a low CPU priority (`nice`) and a memory limit.
"""

import json
import os
import resource
import signal
import sys
from contextlib import suppress

from muster.api.parsing.frames import encoded, receive, send
from muster.api.parsing.submission import ReadSubmission, read_submission
from muster.api.problems.documents import problem
from muster.api.schemas.problems import Problem
from muster.model.client_limits import JOB_READ_CPU_S, JOB_READER_BYTES

NICENESS = 10


def main() -> None:
    """Answer frames on standard input with frames on standard output."""
    os.nice(NICENESS)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (JOB_READER_BYTES, JOB_READER_BYTES))
    while (profiles := receive(sys.stdin.buffer)) is not None and (body := receive(sys.stdin.buffer)) is not None:
        # The signal of this timer has no handler, so it ends the process, also from inside the parser.
        signal.setitimer(signal.ITIMER_VIRTUAL, JOB_READ_CPU_S)
        answer = encoded(_answer(body, profiles))
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        send(sys.stdout.buffer, answer)


def _answer(body: bytes, profiles: bytes) -> ReadSubmission | Problem:
    try:
        return read_submission(body, json.loads(profiles))
    except (MemoryError, RecursionError):
        return problem(422, "invalid", "the job file takes more memory to read than any job file needs")


if __name__ == "__main__":
    main()
