"""The link to a node of this machine: finds or starts its supervisor, and replaces it when it dies.

    away ── none lives ──▶ starting ──▶ greeting ──▶ up
      └──── one lives ────────────────────┘

A successor ends what a dead supervisor left before it greets. Where no successor can be started, the node is swept from
here, by its journal. Only then is it known that what it ran is gone.
"""

import contextlib
import os
import signal
from pathlib import Path

from muster.backends.base import Beside
from muster.backends.local.attachment import Attachment, attach
from muster.backends.local.link import RECONNECT_MS, Link, Listener, Phase
from muster.backends.local.starting import Starting
from muster.backends.local.sweeping import Sweeping
from muster.home import Home
from muster.model.errors import NotFound
from muster.model.ids import JobId
from muster.model.machines.ownership import Leadership
from muster.model.node import Node
from muster.model.node_limits import SUPERVISOR_HELLO_MS, SUPERVISOR_START_MS
from muster.processes import is_same
from muster.worker.loop import Loop
from muster.worker.supervisor_address import SupervisorAddress, reach, supervisor_address


class LocalLink(Link):
    """The link to one node of this machine."""

    def __init__(
        self,
        home: Path,
        node: Node,
        loop: Loop,
        listener: Listener,
        leadership: Leadership,
        options: tuple[str, ...] = (),
    ) -> None:
        super().__init__(node, loop, listener, leadership)
        self._home = home
        self._folder = Home(home).node(node.name)
        self._options = options
        self._starting: Starting | None = None
        self._handle: int | None = None
        """Tells when the supervisor ends."""
        self._tries = 0
        """Tries to reach a living supervisor."""
        self._sweeping: Sweeping | None = None

    def open(self) -> None:
        """Find the node's supervisor, or start one."""
        if self._phase is not Phase.AWAY:
            return
        found = supervisor_address(self._folder)
        if found is not None:
            self._connect(found)
        elif self._handle is not None:
            self._try_again()  # the last supervisor is about to end, and holds the node's lock until then
        else:
            self._start()

    def close(self) -> None:
        """Disconnect. A supervisor that is being started is waited for, so that others find it."""
        if self._starting is not None:
            self._starting.wait()
            self._starting = None
        super().close()
        self._forget_process()

    def attach(self, job: JobId, beside: Beside | None) -> Attachment:
        """The terminal of an interactive job, or a command beside a worker."""
        found = supervisor_address(self._folder)
        if found is None:
            raise NotFound(f"job {job} runs on no node of this machine")
        return attach(self._folder, found.token, job, beside)

    def _greeted(self) -> None:
        super()._greeted()
        if self.is_up:
            self._tries = 0

    def _start(self) -> None:
        """Start a supervisor."""
        try:
            self._starting = Starting(self._home, self.node.name, self._loop, self._started, self._options)
        except OSError as error:
            self._fail(f"its supervisor cannot be started: {error}")
            self._sweep()
            return
        self._enter(Phase.STARTING)
        # The command gives up by itself before, unless it is stopped or waits for a dead disk.
        self._wait(SUPERVISOR_START_MS + SUPERVISOR_HELLO_MS, self._give_up_start)

    def _started(self, code: int) -> None:
        self._starting = None
        found = supervisor_address(self._folder)
        if found is None:
            self._fail(f"its supervisor cannot be started (exit code {code}): see {self._folder / 'supervisor.log'}")
            self._sweep()
        else:
            self._connect(found)

    def _give_up_start(self) -> None:
        assert self._starting is not None
        self._starting.kill()
        self._starting = None
        self._fail("its supervisor hangs while it is started")

    def _connect(self, found: SupervisorAddress) -> None:
        """Connect to a living supervisor, and show it its token."""
        channel = reach(self._folder) if self._is_watching(found) else None
        if channel is None:
            self._try_again()
            return
        self._meet(channel, found.token)

    def _try_again(self) -> None:
        """Open the link again in a moment. After too many tries, kill the supervisor, which cannot be reached."""
        self._tries += 1
        if self._tries * RECONNECT_MS > SUPERVISOR_HELLO_MS:
            self._kill("its supervisor cannot be reached")
        else:
            self._enter(Phase.AWAY)
            self._later(RECONNECT_MS, self.open)

    def _is_watching(self, found: SupervisorAddress) -> bool:
        """Watch for its end from now on. False when that is not possible: it has ended, or no descriptor is left."""
        self._forget_process()
        try:
            handle = os.pidfd_open(found.pid)
        except OSError:
            return False
        if not is_same(found.pid, found.start_ticks):
            os.close(handle)
            return False
        self._handle = handle
        self._loop.watch(handle, readable=self._died)
        return True

    def _forget_process(self) -> None:
        if self._handle is not None:
            self._loop.watch(self._handle)
            os.close(self._handle)
        self._handle = None

    def _died(self) -> None:
        self._forget_process()
        self._fail("its supervisor has ended")

    def _kill(self, because: str) -> None:
        """Kill a supervisor that does not work. A successor takes over what it left."""
        if self._phase is Phase.STARTING:
            return  # it is not there yet
        if self._handle is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
        self._tries = 0
        self._fail(because)

    def _sweep(self) -> None:
        """End what the last supervisor left, because no successor could be started to do it."""
        if self._sweeping is None and not self.is_swept and self._phase is not Phase.CLOSED:
            self._sweeping = Sweeping(self._folder, self._loop, self._was_swept)

    def _was_swept(self, is_clean: bool) -> None:
        self._sweeping = None
        if is_clean and self.is_lost and self._phase is not Phase.CLOSED:
            self.is_swept = True
            self._listener.swept(self)
