"""What the writer does when it is idle, or when it cannot wait any longer: save the state, collect garbage.

By default Python runs a full collection whenever the objects in memory have grown by a quarter. With twenty thousand
jobs it takes a third of a second, and it happens in the busiest minutes. Here young objects are collected as usual, and
all objects only when the writer is idle, or under load after every `STATES_BETWEEN_LOOKS` saved states.
"""

import gc
import logging
from collections.abc import Callable

from muster.engine.folding.state import State
from muster.live import saved_states
from muster.live.publishing.published_log import Waiting
from muster.model.errors import MusterError
from muster.model.limits import (
    IDLE_STATE_EVENTS,
    JOBS_PER_STATE_EVENT,
    STATE_EVERY_EVENTS,
    STATES_BETWEEN_LOOKS,
    YOUNG_OBJECTS,
)
from muster.model.saved_state import HistoryRecord
from muster.store.base import StateStore

_NEVER = 1 << 30

_log = logging.getLogger("muster.live")


class Housekeeping:
    """Knows at which version the state was saved last."""

    def __init__(
        self, states: StateStore, waiting: Waiting, history: Callable[[], HistoryRecord | None] = lambda: None
    ) -> None:
        self._states = states
        self._history = history
        self._waiting = waiting
        self._kept_version = 0
        self._kept_since_a_look = 0
        gc.set_threshold(YOUNG_OBJECTS, 20, _NEVER)

    def took_up(self, version: int) -> None:
        """Note that the engine continues from a state that was saved at this version."""
        self._kept_version = version

    def is_wanted(self, state: State) -> bool:
        """True when there is enough to do to use an idle second for it."""
        return self._is_due(state, IDLE_STATE_EVENTS)

    def _is_due(self, state: State, events: int) -> bool:
        return state.version - self._kept_version >= max(events, len(state.jobs) // JOBS_PER_STATE_EVENT)

    def after_round(self, state: State, *, is_idle: bool) -> None:
        """Do what there is time for, and what cannot wait any longer."""
        if self._is_due(state, IDLE_STATE_EVENTS if is_idle else STATE_EVERY_EVENTS):
            self.keep(state)
            self._kept_since_a_look += 1
            if is_idle or self._kept_since_a_look >= STATES_BETWEEN_LOOKS:
                self._kept_since_a_look = 0
                gc.collect()

    def keep(self, state: State) -> None:
        """Save the state. A restart without it is slow but not wrong, so a failure is no reason to stop."""
        self._kept_version = state.version
        try:
            with self._waiting.answer():
                saved_states.save(self._states, state, self._history())
        except MusterError as error:
            _log.warning("the state could not be saved", extra={"cause": str(error)})
