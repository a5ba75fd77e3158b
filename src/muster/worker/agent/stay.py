"""An agent that lives for one attempt, in an allocation of an engine.

Its supervisor is a child, so that the engine sees and limits everything as parts of one job. It ends when the control
plane says that everything is known, and the agent has sent what is left of the output; then the agent ends, too. An
engine that ends the allocation signals all processes alike: workers may save themselves, while agent and supervisor
stay to report it. A control plane that does not want the agent any more, and says so for a while, has started the job
elsewhere.
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from muster.home import Home
from muster.locks import has_locked
from muster.model.node_limits import SUPERVISOR_START_MS
from muster.worker.__main__ import main as supervise
from muster.worker.agent.tunnel import Tunnel
from muster.worker.agent.uplink import Post, Uplink
from muster.worker.launch.runtime_folder import remove, runtime_folder, scratch_folder
from muster.worker.loop import Loop
from muster.worker.records.journal import JOURNAL
from muster.worker.supervisor_address import supervisor_address, supervisor_line

END_SIGNAL = signal.SIGUSR1
"""What ends a supervisor in an allocation."""

REFUSED_S = 60.0
"""For how long servers have to refuse the agent before it ends what it runs. One that has just started may not know it
yet."""

LEFT_S = 600
"""After how long what an allocation has left may be removed. A younger one may be about to begin."""

LOOK_MS = 20
REFUSED_LOOK_MS = 2_000


def stay(post: Post, lock: int) -> int:
    """Run until the attempt is over. `lock` is the open file by whose lock no second agent connects this post."""
    loop = Loop(settle=lambda: None)
    signal.signal(signal.SIGTERM, lambda _number, _frame: None)
    signal.signal(signal.SIGINT, lambda _number, _frame: None)
    _sweep(post)
    return _Stay(post, lock, loop).run()


def _sweep(post: Post) -> None:
    """Remove what allocations that were killed have left on this node."""
    pattern = post.home.name.replace(post.name.partition("@")[0], "*")
    for home in post.home.parent.glob(pattern):
        with suppress(OSError):
            is_old = time.time() - home.stat().st_mtime > LEFT_S
            if home == post.home or not is_old or home.stat().st_uid != os.geteuid():
                continue
            lock = os.open(home / f"agent-{post.node}.lock", os.O_RDWR | os.O_CLOEXEC)
            if has_locked(lock) and supervisor_address(Home(home).node(post.node)) is None:
                for left in (scratch_folder(home, os.environ), runtime_folder(home), home):
                    remove(left)
            os.close(lock)


class _Stay:
    """The agent of one post."""

    def __init__(self, post: Post, lock: int, loop: Loop) -> None:
        self._post = post
        self._lock = lock
        self._loop = loop
        self._folder = Home(post.home).node(post.node)
        self._parent = os.getppid()
        """What the engine has started. It stands for the allocation."""
        self._child: int | None = None
        """The process of the supervisor, if this agent has started it."""
        self._uplink = Uplink(post, loop, self._ensure_supervisor, ended=self._supervisor_hung_up)

    def run(self) -> int:
        """Return when nothing is left to do."""
        self._loop.after(0, self._uplink.open)
        self._loop.after(REFUSED_LOOK_MS, self._look_whether_wanted)
        self._loop.run()
        self._uplink.close()
        if os.getppid() != self._parent:
            remove(self._post.home)  # nobody else does it any more
        return 0

    def _ensure_supervisor(self) -> str:
        """Start a supervisor unless one lives, or it is over."""
        if supervisor_address(self._folder) is not None:
            return ""
        if self._has_ended:
            self._loop.stop()
            return "its supervisor has ended"
        try:
            self._child = self._forked()
        except OSError as error:
            return f"the supervisor cannot be started: {error}"
        give_up_s = time.monotonic() + SUPERVISOR_START_MS / 1000
        while supervisor_address(self._folder) is None:
            if self._is_child_over or time.monotonic() > give_up_s:
                return "the supervisor cannot be started"
            time.sleep(LOOK_MS / 1000)
        return ""

    def _forked(self) -> int:
        """Start the supervisor as a copy of this process, which saves the time to load everything once more."""
        process = os.fork()
        if process:
            return process
        code = 1
        try:
            # Or the supervisor would hold it for an agent that has died, and keep the next one out.
            os.close(self._lock)
            os.environ.update(self._post.access)
            where = ["--home", str(self._post.home), "--node", self._post.node]
            code = supervise([*where, "--foreground", "--while-lives", str(self._parent)])
        finally:
            sys.stderr.flush()
            os._exit(code)

    @property
    def _is_child_over(self) -> bool:
        if self._child is None:
            return True
        with suppress(ChildProcessError):
            if os.waitpid(self._child, os.WNOHANG) == (0, 0):
                return False
        self._child = None
        return True

    @property
    def _has_ended(self) -> bool:
        """True once the supervisor has ended in order, which is when it takes back who it was."""
        return (self._folder / JOURNAL).exists() and not (self._folder / "supervisor.json").exists()

    def _supervisor_hung_up(self, tunnel: Tunnel) -> None:
        """It has ended, or it dropped this connection. In the first case everything is done."""
        self._later(lambda: self._after_supervisor(tunnel))

    def _after_supervisor(self, tunnel: Tunnel) -> None:
        if not self._is_child_over and supervisor_address(self._folder) is None:
            self._later(lambda: self._after_supervisor(tunnel))  # it is about to end
        elif self._has_ended:
            self._uplink.last_sending.give_up()
            self._loop.stop()
        else:
            tunnel.close()

    def _later(self, happen: Callable[[], None]) -> None:
        self._loop.after(LOOK_MS, happen)

    def _look_whether_wanted(self) -> None:
        """End everything once no server has wanted this agent for a while, or the engine has taken the node back."""
        self._loop.after(REFUSED_LOOK_MS, self._look_whether_wanted)
        if os.getppid() != self._parent and supervisor_address(self._folder) is None:
            self._loop.stop()
        refused_s, found = self._uplink.refused_s, supervisor_address(self._folder)
        if refused_s is None or time.monotonic() - refused_s < REFUSED_S:
            return
        sys.stderr.write("the control plane does not want this agent any more: its attempt is over\n")
        self._uplink.last_sending.abandon(supervisor_line(self._folder))
        if found is None:
            self._loop.stop()
        else:
            os.kill(found.pid, END_SIGNAL)
