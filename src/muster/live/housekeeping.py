"""What the writer does when nobody waits, or when it can be put off no longer: keep the state, look for garbage.

Python would look through everything in memory whenever a quarter as much has come to it, for a third of a second with
twenty thousand jobs, and so in the middle of the busiest minutes. Here it looks at what is young as usual, and at
everything only when there is time.
"""

import gc
import logging

from muster.engine.folding.state import State
from muster.live import saved_states
from muster.live.published_log import Waiting
from muster.model.errors import MusterError
from muster.model.limits import (
    IDLE_STATE_EVENTS,
    JOBS_PER_STATE_EVENT,
    STATE_EVERY_EVENTS,
    STATES_BETWEEN_LOOKS,
    YOUNG_OBJECTS,
)
from muster.store.base import StateStore

_NEVER = 1 << 30

_log = logging.getLogger("muster.live")


class Housekeeping:
    """Knows what was kept last."""

    def __init__(self, states: StateStore, waiting: Waiting) -> None:
        self._states = states
        self._waiting = waiting
        self._kept_version = 0
        self._kept_since_a_look = 0
        gc.set_threshold(YOUNG_OBJECTS, 20, _NEVER)

    def took_up(self, version: int) -> None:
        """The engine goes on from a state that was kept at this version."""
        self._kept_version = version

    def is_wanted(self, state: State) -> bool:
        """True when there is enough to do that a quiet second should be used for it."""
        return self._is_due(state, IDLE_STATE_EVENTS)

    def _is_due(self, state: State, events: int) -> bool:
        return state.version - self._kept_version >= max(events, len(state.jobs) // JOBS_PER_STATE_EVENT)

    def after_round(self, state: State, *, is_idle: bool) -> None:
        """Do what there is time for, or what must be done although there is none."""
        if self._is_due(state, IDLE_STATE_EVENTS if is_idle else STATE_EVERY_EVENTS):
            self.keep(state)
            self._kept_since_a_look += 1
            if is_idle or self._kept_since_a_look >= STATES_BETWEEN_LOOKS:
                self._kept_since_a_look = 0
                gc.collect()

    def keep(self, state: State) -> None:
        """Keep the state. A restart without it is slow and not wrong, so that it fails is no reason to stop."""
        self._kept_version = state.version
        try:
            with self._waiting.answer():
                saved_states.save(self._states, state)
        except MusterError as error:
            _log.warning("the state could not be saved", extra={"cause": str(error)})
