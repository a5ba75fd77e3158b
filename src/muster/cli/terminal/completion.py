"""What the shell offers after TAB: ids and names that the server knows.

A completion never shows an error and never makes the user wait. Without a quick answer it offers nothing.
"""

from collections.abc import Callable, Iterable

from muster.model.errors import MusterError
from muster.model.printable import one_line

OFFERED = 50
PATIENCE_S = 0.7
"""If it takes longer, people think that their shell hangs."""


def complete_job(incomplete: str) -> list[tuple[str, str]]:
    """Ids of jobs, newest first as the server lists them, each with its name and state."""
    return _offered(incomplete, _known_jobs)


def complete_node(incomplete: str) -> list[tuple[str, str]]:
    """Names of nodes, each with its state."""
    return _offered(incomplete, _known_nodes)


def _offered(incomplete: str, known: Callable[[], Iterable[tuple[str, str]]]) -> list[tuple[str, str]]:
    try:
        offered = ((one_line(name), one_line(told)) for name, told in known())
        return [each for each in offered if each[0].startswith(incomplete)][:OFFERED]
    except (MusterError, OSError):
        return []


def _known_jobs() -> Iterable[tuple[str, str]]:
    from muster.client import Client  # noqa: PLC0415

    with Client(timeout=PATIENCE_S, tries=1) as client:
        return [(job.id, f"{job.name}, {job.state}") for job in client.jobs(limit=500)]


def _known_nodes() -> Iterable[tuple[str, str]]:
    from muster.client import Client  # noqa: PLC0415

    with Client(timeout=PATIENCE_S, tries=1) as client:
        return [(node.name, node.state) for node in client.nodes()]
