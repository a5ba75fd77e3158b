"""`python -m muster.worker`: starts the supervisor of a node, detached, and returns when it accepts connections.

Exit codes: 0 it serves; 1 it could not be started, its log says why; 3 the node has a living supervisor already.
"""

import argparse
import json
import os
import signal
import sys
from pathlib import Path

from muster.home import Home
from muster.locks import has_locked
from muster.model.ids import NodeName
from muster.model.node_limits import SUPERVISOR_LOG_BYTES, SUPERVISOR_START_MS, WORKER_PROCESSES
from muster.private_files import open_private, write_private
from muster.processes import entry
from muster.worker.launch.batch_jobs import withdraw_commands
from muster.worker.launch.launch_spec import NodeContext
from muster.worker.launch.runtime_folder import keep_from_cleaners, remove, remove_all, runtime_folder
from muster.worker.launch.training_path import withdraw
from muster.worker.processes.cgroups import CgroupRoot, find_cgroup_root
from muster.worker.processes.process_table import become_subreaper, boot_id
from muster.worker.processes.strays import end_strays
from muster.worker.records.journal import JOURNAL, Journal, known_tokens
from muster.worker.records.orphan_cleanup import LOCK, OrphanCleanup
from muster.worker.supervisor import NodeIdentity, Supervisor

TAKEN = 3


def main(arguments: list[str] | None = None) -> int:
    """Start a supervisor. In the detached process this returns when the supervisor has ended."""
    options = _options(arguments)
    home = Path(options.home).resolve()
    folder = Home(home).node(options.node)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    umask = os.umask(0o077)
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if not has_locked(lock):
        _say(f"node {options.node} has a supervisor already")
        return TAKEN
    # The home of an allocation is new, and to look at every process of a busy node would delay the workers.
    if options.while_lives is None or (folder / JOURNAL).exists():
        # Before the fork: afterwards another process has the same command line.
        for left in end_strays(home, options.node, known_tokens(folder / JOURNAL), but=os.getpid()):
            _say(f"node {options.node} runs {left}")
    ready = -1 if options.foreground else _detach(folder / "supervisor.log")
    # If the start hangs, the signal ends this process. Then the node's lock is free, and another start can try.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, options.start_s)
    context = NodeContext(
        home=home,
        workers=runtime_folder(home) / options.node,
        node=NodeName(options.node),
        cgroup_root=CgroupRoot() if options.without_groups else find_cgroup_root(_cgroup_root_name(home, options.node)),
        processes_max=options.max_processes,
        variables=dict(os.environ),
        umask=umask,
    )
    _serve(context, folder, ready, options.while_lives)
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m muster.worker", description="The supervisor of one node.")
    parser.add_argument("--home", required=True, help="the folder that holds nodes/, logs/ and secrets/")
    parser.add_argument("--node", required=True, help="the node's name")
    parser.add_argument("--max-processes", type=int, default=WORKER_PROCESSES, help="processes and threads per worker")
    parser.add_argument("--without-groups", action="store_true", help="use no control groups, even where they work")
    parser.add_argument(
        "--start-s", type=float, default=SUPERVISOR_START_MS / 1000, help="seconds after which a start that hangs ends"
    )
    parser.add_argument("--foreground", action="store_true", help="stay in this session, and print to this terminal")
    parser.add_argument(
        "--while-lives",
        type=int,
        metavar="PID",
        help="end with this process, or on SIGUSR1, and not on SIGTERM, which an engine sends to workers as well",
    )
    return parser.parse_args(arguments)


def _detach(log: Path) -> int:
    """Go on in a new session. The original process waits until the detached one says that it is ready."""
    reading, ready = os.pipe2(os.O_CLOEXEC)
    if os.fork() > 0:
        os.close(ready)
        os._exit(0 if os.read(reading, 1) else 1)
    os.close(reading)
    os.setsid()
    if os.fork() > 0:
        os._exit(0)
    mode = os.O_TRUNC if log.exists() and log.stat().st_size > SUPERVISOR_LOG_BYTES else os.O_APPEND
    output = open_private(log, mode)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for given, wanted in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(given, wanted)
    os.close(output)
    os.close(nothing)
    return ready


def _serve(context: NodeContext, folder: Path, ready: int, while_lives: int | None) -> None:
    os.chdir("/")
    ends_on = signal.SIGTERM if while_lives is None else signal.SIGUSR1
    become_subreaper()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGCHLD, signal.SIGTERM, ends_on):
        signal.signal(number, _noted)
    journal = Journal(folder / JOURNAL)
    if journal.unreadable:
        _say(f"lines {', '.join(map(str, journal.unreadable))} of the journal were damaged and are left out")
    context.claim_workers()
    if not keep_from_cleaners(context.workers.parent):
        _say(f"{context.workers.parent} is locked by another program, which may remove what workers need")
    orphans = OrphanCleanup(journal, context.home, context.workers)
    orphans.settle()
    if orphans.is_settled and not journal.is_stale:
        remove_all(context.workers)
    withdraw_commands(context.workers)
    withdraw(context.workers)  # that of a predecessor, which may have been another version
    remove(folder / "workers")  # where an older Muster kept the folders of workers
    identity = _identity()
    supervisor = Supervisor(context, journal, identity, orphans, ends_on=ends_on, while_lives=while_lives)
    _introduce(identity, folder)
    signal.setitimer(signal.ITIMER_REAL, 0)
    if ready >= 0:
        os.write(ready, b"1")
        os.close(ready)
    supervisor.run()
    context.cgroup_root.remove()
    context.give_back()
    (folder / "supervisor.json").unlink(missing_ok=True)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _noted(_number: int, _frame: object) -> None:
    """Nothing to do: the signal number, which is written to the loop's pipe, wakes the loop."""


def _identity() -> NodeIdentity:
    found = entry(os.getpid())
    assert found is not None
    return NodeIdentity(pid=found.pid, start_ticks=found.start_ticks, token=os.urandom(16).hex())


def _introduce(identity: NodeIdentity, folder: Path) -> None:
    """Write atomically which process serves this node, and its token."""
    text = {"pid": identity.pid, "start_ticks": identity.start_ticks, "boot": boot_id(), "token": identity.token}
    write_private(folder / "supervisor.json", json.dumps(text))


def _cgroup_root_name(home: Path, node: str) -> str:
    """The control group of a node: the same for a successor, different for the same node of another home."""
    return f"muster-{home.stat().st_ino:x}-{node}"


if __name__ == "__main__":
    sys.exit(main())
