"""Everything Muster raises on purpose.

    MusterError
    ├── InvalidInput            the request or file is wrong as written
    │   └── InvalidFile         … with the file and the path inside it
    │   └── TooLarge            … because there is too much of it
    ├── Unauthenticated         nobody knows who asks
    ├── Refused                 understood, and not allowed
    │   └── NeverRuns           … because a job can never run here as things are configured
    ├── NotFound
    ├── Conflict                the world changed in between; try again
    │   └── KeyReused           a request came under the key of another one
    │   └── HasEnded            … because the job is over; trying again will not help
    ├── TooMany                 more at once than is allowed; try again later
    ├── Unavailable             not now: a queue or the disk is full, the database does not answer, the writer stopped
    │   └── Unreachable         … because nothing answers there, or not as a Muster server does
    ├── TimedOut                it did not happen within the time given
    ├── Corrupted               what was stored is not what was written
    ├── TooNew                  what was stored was written by a newer Muster
    └── InvariantViolated       a bug in Muster: the writer stops, reads go on

Each has a stable `code` for programs, an HTTP status, an exit code for the command line, and whether trying again
can help. The message says what was wrong, where, and what to do next.
"""


class MusterError(Exception):
    """Base of all errors that Muster raises on purpose."""

    code = "internal"
    http_status = 500
    exit_code = 1
    retry_helps = False


class InvalidInput(MusterError):
    """The input is wrong as written; sending it again will not help."""

    code = "invalid"
    http_status = 422
    exit_code = 2


class InvalidFile(InvalidInput):
    """A file is wrong at a place that can be named."""

    code = "invalid_file"

    def __init__(self, *, file: str, path: str, problem: str, hint: str = "", line: int | None = None) -> None:
        self.file = file
        self.path = path
        self.problem = problem
        self.hint = hint
        self.line = line
        where = f"{file}:{line}" if line is not None else file
        place = f"{where}: {path}" if path else where
        super().__init__(f"{place}: {problem}" + (f" ({hint})" if hint else ""))


class TooLarge(InvalidInput):
    """There is more of it than is read."""

    code = "too_large"
    http_status = 413


class Unauthenticated(MusterError):
    """Whoever asks did not say who they are, or not in a way that can be believed."""

    code = "unauthenticated"
    http_status = 401
    exit_code = 3


class Refused(MusterError):
    """Understood, and not allowed by access, policy or quota."""

    code = "refused"
    http_status = 403
    exit_code = 3


class NeverRuns(Refused):
    """A job can never run here as things are configured; its code says why."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class NotFound(MusterError):
    """There is no such thing."""

    code = "not_found"
    http_status = 404
    exit_code = 4


class Conflict(MusterError):
    """The state changed between reading and writing."""

    code = "conflict"
    http_status = 409
    exit_code = 3
    retry_helps = True


class KeyReused(Conflict):
    """A key stands for one request, and this is another one."""

    code = "key_reused"
    retry_helps = False


class HasEnded(Conflict):
    """The job is over: nothing about it can be changed any more."""

    code = "ended"
    retry_helps = False


class TooMany(MusterError):
    """One more than is allowed at once."""

    code = "too_many"
    http_status = 429
    exit_code = 5
    retry_helps = True

    def __init__(self, message: str, *, retry_s: int | None = None) -> None:
        """`retry_s` says when trying again makes sense, where that is known."""
        super().__init__(message)
        self.retry_s = retry_s


class Unavailable(MusterError):
    """What is needed to answer is not there now, such as room on the disk. Nothing was changed."""

    code = "unavailable"
    http_status = 503
    exit_code = 5
    retry_helps = True

    def __init__(self, message: str, *, brief: str = "") -> None:
        super().__init__(message)
        self.brief = brief
        """What is wrong without saying where: for whoever asks how the server is, who may be anybody."""


class Unreachable(Unavailable):
    """No Muster server answers at the address that was tried."""

    code = "unreachable"


class TimedOut(MusterError):
    """What was waited for did not happen in time; it may still happen later."""

    code = "timed_out"
    http_status = 504
    exit_code = 6
    retry_helps = True


class Corrupted(MusterError):
    """Stored bytes are not those that were written: nothing that depends on them may be trusted."""

    code = "corrupted"


class TooNew(MusterError):
    """Stored by a newer Muster in a form that this one does not know."""

    code = "too_new"


class InvariantViolated(MusterError):
    """Something that can never be true is true. The writer must stop."""

    code = "invariant"
