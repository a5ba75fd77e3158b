"""The warning when several subjects share the account that jobs run in. Pure."""

from collections.abc import Iterable

from muster.access.permissions import Permission
from muster.access.principal import may_somewhere, principal_of
from muster.model.access import Token

SHOWN = 5
"""How many names one warning shows."""


def shared_account_warning(tokens: Iterable[Token], now_ms: int) -> str:
    """The warning for the operator when more than one subject may submit; empty when there is at most one."""
    names = sorted({principal_of(token).name for token in tokens if _lets_in(token, now_ms)})
    if len(names) < 2:
        return ""
    shown = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
    return (
        f"{len(names)} subjects may submit jobs ({shown}), and all jobs run in the account of this server: each of "
        "them can read and change what that account can, also tokens, secrets and the jobs of others. Give tokens "
        "only to people whom you would give the account, and run the server in one of its own"
    )


def _lets_in(token: Token, now_ms: int) -> bool:
    is_valid = token.revoked_ms is None and (token.expires_ms is None or token.expires_ms > now_ms)
    return is_valid and may_somewhere(principal_of(token), Permission.JOBS_SUBMIT)
