"""What the routes share besides the ports: known tokens, watchers, rates, queues and recent explanations."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import ParamSpec, TypeVar

from muster.access.attempt_keyring import AttemptKeyring
from muster.access.keyring import Keyring
from muster.access.permissions import Permission
from muster.access.principal import Principal
from muster.access.sessions import SignInCodes
from muster.api.admission.judges import Judges
from muster.api.deps import Deps
from muster.api.front.denials import Denials
from muster.api.front.fair_queue import FairQueue
from muster.api.front.rates import Rates, refuse_if_too_often
from muster.api.front.turns import PRESENT
from muster.api.lookups.explanations import Explanations
from muster.api.lookups.job_list import JobList
from muster.api.lookups.records import Records
from muster.api.parsing.readers import Readers
from muster.api.streams.hub import Hub
from muster.api.streams.stream_limit import StreamLimit
from muster.api.what_if.simulations import Simulations
from muster.live.inbox import Action
from muster.model.client_limits import (
    STRANGERS_PER_S,
    TURNS,
    TURNS_ALONE,
    TURNS_EACH,
    TURNS_WAITING,
    WRITES,
    WRITES_EACH,
)
from muster.model.errors import TooMany
from muster.model.limits import (
    LOG_FOLLOWERS,
    LOG_FOLLOWERS_PER_CALLER,
    TERMINAL_THREADS,
    TERMINALS,
    TERMINALS_PER_CALLER,
)
from muster.views.job_counts import Counting

_log = logging.getLogger("muster.api")

T = TypeVar("T")
P = ParamSpec("P")

STACKS_AT_ONCE = 8
"""Requests for stacks that are answered at the same time. Each stops every process of a job for a moment."""

UNASKED_EVERY_S = 60.0
"""How often a server estimates the start of a job about which no user has asked, to learn from its outcome."""

READ_ONLY = frozenset(
    {Permission.JOBS_SEE, Permission.CLUSTER_SEE, Permission.METRICS_SEE, Permission.AUDIT_SEE},
)
"""A refused read is only answered. A refused change is also noted in the audit."""


class Services:
    """The services of one application."""

    def __init__(self, deps: Deps) -> None:
        self.deps = deps
        attempts = AttemptKeyring(deps.tokens, key=deps.job_key, find=lambda job: deps.control.view.jobs.get(job, None))
        self.keyring = Keyring(deps.tokens, attempts)
        self.sign_in_codes = SignInCodes()
        self.records = Records(deps.control, deps.jobs)
        self.job_list = JobList(deps.control, self.records)
        self.hub = Hub(deps, self.records)
        self.explanations = Explanations(deps.control, self.records, deps.kept_estimates)
        self.closing = asyncio.Event()
        """Set when the server stops, so that streams end."""
        self.rates = Rates(deps.settings.requests_per_s, deps.settings.requests_at_once)
        self.strangers = Rates(STRANGERS_PER_S, deps.settings.strangers_at_once)
        self.turns = FairQueue(TURNS, each=TURNS_EACH, alone=TURNS_ALONE, waiting=TURNS_WAITING)
        self.writes = FairQueue(WRITES, each=WRITES_EACH, alone=WRITES, waiting=TURNS_WAITING)
        """Requests that wait for the writer."""
        self.denials = Denials(deps.control, deps.clock.now_ms)
        self.readers = Readers()
        self.judges = Judges()
        self.followers = StreamLimit(LOG_FOLLOWERS, "logs", each=LOG_FOLLOWERS_PER_CALLER)
        self.terminals = StreamLimit(TERMINALS, "terminals", each=TERMINALS_PER_CALLER)
        # Separate threads: terminals wait for hours, and tokens, logs and metrics must not wait behind them.
        self._terminal_threads = ThreadPoolExecutor(TERMINALS * TERMINAL_THREADS, thread_name_prefix="terminal")
        self.stacks = StreamLimit(STACKS_AT_ONCE, "captures of stacks", each=STACKS_AT_ONCE // 2)
        self.verifying = StreamLimit(1, "walks through the audit")
        self.trying = StreamLimit(1, "tries of admission rules")
        self.counting = Counting()
        self.what_ifs = Simulations(deps.simulator)

    def close(self) -> None:
        """End all streams and background work, so that the server can stop."""
        self.closing.set()
        self.denials.close()
        self.readers.close()
        self.judges.close()
        self.what_ifs.close()
        self.hub.close()
        self.explanations.close()
        self.records.close()

    async def is_closing_within(self, wait_s: float) -> bool:
        """Wait for `wait_s`, then return False; True at once when the server stops meanwhile."""
        try:
            await asyncio.wait_for(self.closing.wait(), wait_s)
        except TimeoutError:
            return False
        return True

    async def learn_unasked(self, every_s: float = UNASKED_EVERY_S) -> None:
        """Learn how good start estimates are, also while no user asks for any, until the server stops."""
        while not await self.is_closing_within(every_s):
            try:
                with suppress(TooMany):
                    await self.explanations.learn_unasked(self.deps.clock.now_ms())
            except Exception:  # noqa: BLE001 (no user waits for this estimate, and the next may be possible)
                _log.exception("A start could not be estimated. The next is tried in %g s.", every_s)

    async def at_terminal(self, act: Callable[P, T], *given: P.args, **more: P.kwargs) -> T:
        """Call a terminal function, which may block, on a thread that is only for terminals."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._terminal_threads, partial(act, *given, **more))

    async def ask(self, action: Action[T]) -> T:
        """Have the writer run an action. Returns its result when it is durable.

        Meanwhile the request has no turn, and others are answered.
        """
        turn = PRESENT.get()
        subject = ""
        if turn is not None:
            turn.end()
            subject = turn.subject
        await self.writes.enter(subject)
        try:
            return await asyncio.wrap_future(self.deps.control.ask(action))
        finally:
            self.writes.leave(subject)

    async def note_denial(self, principal: Principal, action: str, subject: str) -> None:
        """Note in the audit that a caller was refused a change."""
        if action in READ_ONLY:
            return
        await self.denials.note(principal, action, subject)

    def count(self, principal: Principal) -> None:
        """Count a request that did not come through the entrance. Raises when there are too many."""
        subject = subject_of(principal)
        refuse_if_too_often(self.rates.take(subject), subject)


def subject_of(principal: Principal) -> str:
    """The key under which requests are counted: one person or program, whichever of its tokens it uses."""
    return principal.name
