"""Everything Muster raises on purpose.

    MusterError
    ├── InvalidInput            the request or file is wrong as written
    │   └── InvalidFile         … with the file and the path inside it
    │   └── TooLarge            … because it is too large
    ├── Unauthenticated         it is not known who asks
    ├── Refused                 understood, but not allowed
    │   └── Denied              … because an admission rule denies it
    │   └── NeverRuns           … because a job can never run here as things are configured
    │   └── Superseded          … because another control plane leads since
    ├── NotFound
    ├── Conflict                the state changed in between; try again
    │   └── KeyReused           the key of the request was used for another request
    │   └── HasEnded            … because the job is over; trying again will not help
    ├── TooMany                 more at once than is allowed; try again later
    ├── Unavailable             not now: a queue or the disk is full, the database does not answer, the writer stopped
    │   └── Unreachable         … because no server answers there, or it is not a Muster server
    │   └── NotLeading          … because this control plane stands by, and only the leader can do it
    ├── TimedOut                it did not happen within the given time
    ├── JobFailed               a job ended without the result that was asked for
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
    """A file is wrong at a known place."""

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
    """The input is longer than what Muster reads."""

    code = "too_large"
    http_status = 413


class Unauthenticated(MusterError):
    """The caller did not say who they are, or their token is not valid."""

    code = "unauthenticated"
    http_status = 401
    exit_code = 3


class Refused(MusterError):
    """Understood, but not allowed by access, policy or quota."""

    code = "refused"
    http_status = 403
    exit_code = 3


class Denied(Refused):
    """An admission rule refuses a job."""

    code = "denied"

    def __init__(self, rule: str, message: str) -> None:
        self.rule = rule
        super().__init__(f"the admission rule {rule!r} refuses the job: {message}")


class NeverRuns(Refused):
    """A job can never run here as things are configured; its code says why."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class Superseded(Refused):
    """Another control plane leads since: this one can write nothing more under its epoch."""

    code = "superseded"


class NotFound(MusterError):
    """The thing that was asked for does not exist."""

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
    """A key stands for one request, and this is another request."""

    code = "key_reused"
    retry_helps = False


class HasEnded(Conflict):
    """The job is over. Nothing about it can be changed any more."""

    code = "ended"
    retry_helps = False


class TooMany(MusterError):
    """More at once than is allowed."""

    code = "too_many"
    http_status = 429
    exit_code = 5
    retry_helps = True

    def __init__(self, message: str, *, retry_s: int | None = None) -> None:
        """`retry_s` says in how many seconds trying again makes sense, if that is known."""
        super().__init__(message)
        self.retry_s = retry_s


class Unavailable(MusterError):
    """Something needed for the answer is missing now, such as room on the disk. Nothing was changed."""

    code = "unavailable"
    http_status = 503
    exit_code = 5
    retry_helps = True

    def __init__(self, message: str, *, brief: str = "") -> None:
        super().__init__(message)
        self.brief = brief
        """The problem without its place: for health checks, which any caller may make."""


class Unreachable(Unavailable):
    """No Muster server answers at the address that was tried."""

    code = "unreachable"


class NotLeading(Unavailable):
    """The control plane stands by. Only the one that leads can do what was asked for."""

    code = "not_leading"


class TimedOut(MusterError):
    """The awaited result did not come in time. It may still come later."""

    code = "timed_out"
    http_status = 504
    exit_code = 6
    retry_helps = True


class JobFailed(MusterError):
    """A job has ended, and there is no result: it failed, was cancelled, or ran out of time."""

    code = "job_failed"


class Corrupted(MusterError):
    """Stored bytes are not the bytes that were written. Nothing that depends on them can be trusted."""

    code = "corrupted"


class TooNew(MusterError):
    """Stored by a newer Muster in a form that this version does not know."""

    code = "too_new"


class InvariantViolated(MusterError):
    """Something is true that can never be true. The writer must stop."""

    code = "invariant"
