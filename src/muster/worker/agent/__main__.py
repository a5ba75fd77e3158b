"""`python3 muster-agent.pyz`: connects a machine with a Muster that is elsewhere, as one of its nodes.

It starts the node's supervisor if none lives, and keeps it connected. When the agent ends, jobs go on, and the next
agent finds them; `--end` ends the supervisor with everything it runs.
"""

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

from muster.home import Home
from muster.locks import has_locked
from muster.model.node_limits import SUPERVISOR_END_S, SUPERVISOR_START_MS
from muster.private_files import claim_folder, open_private
from muster.processes import end_processes
from muster.worker.agent.stay import stay
from muster.worker.agent.tunnel import CannotOpen, ControlAddress, check_url
from muster.worker.agent.unpacking import DEFAULT_HOME
from muster.worker.agent.uplink import Post, Uplink
from muster.worker.loop import Loop
from muster.worker.program import program
from muster.worker.records.orphan_cleanup import sweep
from muster.worker.supervisor_address import supervisor_address

TAKEN = 3
"""The exit code when another agent connects this node already."""

TOKEN_CHARS = 4096


def main(arguments: list[str] | None = None) -> int:
    """Run until a signal comes."""
    options = _options(arguments)
    home = Path(options.home).expanduser().resolve()
    claim_folder(home)
    if options.end:
        return _end(home, options.node)
    try:
        post = Post(home=home, node=options.node, servers=_servers(options), name=options.post)
    except CannotOpen as error:
        sys.stderr.write(f"{error}\n")
        return 2
    lock = open_private(home / f"agent-{options.node}.lock", 0)
    if not has_locked(lock):
        sys.stderr.write(f"another agent connects {options.node} already\n")
        return TAKEN
    if options.post:
        return stay(post, lock)
    _run(post)
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="muster-agent", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--node", required=True, help="the name of this machine in the cluster")
    parser.add_argument("--url", default="", help="where Muster is; several addresses are separated by commas")
    parser.add_argument("--token-file", type=Path, help="a file with the token of this agent, which only you can read")
    parser.add_argument("--ca", default="", help="a file with certificate authorities to trust, in PEM")
    parser.add_argument("--home", default=DEFAULT_HOME, help=f"where the agent keeps its files, {DEFAULT_HOME}")
    parser.add_argument("--code", default="", help="where it unpacks itself, if not there; agents may share it")
    parser.add_argument("--post", default="", help="live for one attempt, in the allocation with this name")
    parser.add_argument("--end", action="store_true", help="end the supervisor of this node with everything it runs")
    return parser.parse_args(arguments)


def _servers(options: argparse.Namespace) -> tuple[ControlAddress, ...]:
    urls = [url.strip() for url in options.url.split(",") if url.strip()]
    if not urls or options.token_file is None:
        raise CannotOpen("an agent needs --url and --token-file; `muster token create --role agent` makes a token")
    try:
        token = options.token_file.read_text("utf-8")[:TOKEN_CHARS].strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CannotOpen(f"{options.token_file} cannot be read: {error}") from None
    for url in urls:
        check_url(url)
    return tuple(ControlAddress(url=url, token=token, authorities=options.ca) for url in urls)


def _run(post: Post) -> None:
    loop = Loop(settle=lambda: None)
    loop.on_signal(lambda _: loop.stop())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: None)
    uplink = Uplink(post, loop, lambda: _ensure_supervisor(post))
    loop.after(0, uplink.open)
    loop.run()
    uplink.close()


def _ensure_supervisor(post: Post) -> str:
    """Start the supervisor of the node unless one lives; why it could not be started."""
    if supervisor_address(Home(post.home).node(post.node)) is not None:
        return ""
    command = [*program("muster.worker"), "--home", str(post.home), "--node", post.node]
    variables = {**os.environ, **post.access}
    try:
        done = subprocess.run(
            command, check=False, stdin=subprocess.DEVNULL, timeout=2 * SUPERVISOR_START_MS / 1000, env=variables
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the supervisor of {post.node} cannot be started: {error}"
    log = Home(post.home).node(post.node) / "supervisor.log"
    return "" if done.returncode in (0, TAKEN) else f"the supervisor of {post.node} cannot be started: see {log}"


def _end(home: Path, node: str) -> int:
    folder = Home(home).node(node)
    found = supervisor_address(folder)
    if found is not None:
        end_processes([(found.pid, found.start_ticks)], patience_s=SUPERVISOR_END_S, then_kill=True)
    left = sweep(folder) if folder.is_dir() else ()
    for each in left:
        sys.stderr.write(f"{each} does not end\n")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
