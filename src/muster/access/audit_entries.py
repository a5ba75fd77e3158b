"""What the audit says of one act. Names are encoded and cut: an entry is read on a terminal, and for years."""

from muster.access.principal import Principal
from muster.model.audit import AuditEntry
from muster.model.client_limits import AUDIT_SUBJECT_CHARS
from muster.model.printable import one_line


def entry(
    principal: Principal,
    now_ms: int,
    action: str,
    subject: str,
    *,
    outcome: str = "done",
    reason: str = "",
    **more: str,
) -> AuditEntry:
    """An entry about something that somebody did, or was refused."""
    detail = {"outcome": outcome, "token": principal.token, **{key: recorded(value) for key, value in more.items()}}
    return AuditEntry(
        at_ms=now_ms,
        by=principal.name,
        action=action,
        subject=recorded(subject),
        detail=tuple(detail.items()),
        reason=reason,
    )


def recorded(name: str) -> str:
    """The name of something as the audit keeps it: on one line, without what a terminal obeys, and not too long."""
    written = one_line(name[: AUDIT_SUBJECT_CHARS + 1])
    return written if len(written) <= AUDIT_SUBJECT_CHARS else f"{written[: AUDIT_SUBJECT_CHARS - 1]}…"
