"""Where a database's password may be written, and where not."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from muster.model.errors import InvalidInput

VARIABLE = "MUSTER_DATABASE"

_SECRETS = ("password", "sslpassword")


def refuse_password(url: str) -> None:
    """Refuse a password on the command line, which every user of the machine can read."""
    if has_password(url):
        raise InvalidInput(
            "--database has a password in it, which everybody on this machine could read in the list of processes; "
            f"write the whole address into the configuration file (database, under [server]), or set {VARIABLE}"
        )


def has_password(url: str) -> bool:
    """True for an address that holds a secret."""
    try:
        parts = urlsplit(url)
        return bool(parts.password) or any(name in parse_qs(parts.query) for name in _SECRETS)
    except ValueError:
        return False


def database_files(url: str) -> tuple[tuple[Path, str], ...]:
    """The file of a SQLite database, and what to call it where its path is not shown. Else nothing."""
    prefix = "sqlite:///"
    return ((Path(url.removeprefix(prefix)), "the database"),) if url.startswith(prefix) else ()


def is_shared(url: str) -> bool:
    """True when several control planes can share the database: on PostgreSQL, not in a file."""
    return url.startswith(("postgresql:", "postgresql+", "postgres:"))
