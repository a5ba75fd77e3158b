"""Removes bundles that no job needs any more, from time to time."""

import asyncio
import logging
from collections.abc import Iterator

from muster.api.services import Services
from muster.views.view import View
from muster.worker.bundles.collecting import collect

FIRST_S, EVERY_S = 300.0, 3_600.0
"""When it is done first after a start, and then how often. What is removed was unused for a day at least."""

_log = logging.getLogger("muster.api")


async def collect_bundles(services: Services) -> None:
    """Collect until the server stops. A failure is logged and tried again: it costs nothing but room on the disk."""
    root = services.deps.bundles
    pause_s = FIRST_S
    while root is not None and not await services.is_closing_within(pause_s):
        pause_s = EVERY_S
        try:
            await asyncio.to_thread(collect, root, tuple(bundles_in_use(services.deps.control.view)))
        except OSError as error:
            _log.warning("bundles could not be collected", extra={"cause": str(error)})


def bundles_in_use(view: View) -> Iterator[tuple[str, str]]:
    """Team and id of the bundles of all jobs that have not ended."""
    for record in (*view.jobs.values(), *view.arrays.values()):
        if record.spec.bundle is not None:
            yield record.spec.team, record.spec.bundle.id
