"""One action as the audit keeps it. Names are escaped and cut: entries are kept for years and read on a terminal."""

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
    """An entry about an action that a caller took or was refused."""
    detail = {"outcome": outcome, "token": principal.token, **{key: recorded(value) for key, value in more.items()}}
    return AuditEntry(
        at_ms=now_ms,
        by=principal.actor,
        action=action,
        subject=recorded(subject),
        detail=tuple(detail.items()),
        reason=reason,
    )


def recorded(name: str) -> str:
    """A name as the audit keeps it: on one line, without terminal control characters, and cut to a maximum length."""
    written = one_line(name[: AUDIT_SUBJECT_CHARS + 1])
    return written if len(written) <= AUDIT_SUBJECT_CHARS else f"{written[: AUDIT_SUBJECT_CHARS - 1]}…"
