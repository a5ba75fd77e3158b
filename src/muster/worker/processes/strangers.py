"""Children of a supervisor of which nothing shows which worker started them."""

from collections.abc import Callable

from muster.processes import entry
from muster.worker.processes.process_table import children, descendants, everybody
from muster.worker.processes.trees import kill_together


def end_strangers(is_known: Callable[[int], bool], oldest_ticks: int | None) -> bool:
    """Kill strangers that cannot belong to a living worker: all workers that are older than they have ended.

    A process is never older than the worker that started it. `oldest_ticks` is when the oldest living worker was
    started, and None without one. True when strangers were found.
    """
    found = (entry(pid) for pid in children() if not is_known(pid))
    strangers = [each for each in found if each is not None and each.is_alive]
    nobodys = [each.pid for each in strangers if oldest_ticks is None or each.start_ticks < oldest_ticks]
    if nobodys:
        kill_together(lambda: descendants(nobodys, everybody()))
    return bool(strangers)
