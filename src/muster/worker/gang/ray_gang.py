"""A Ray cluster of a gang: the first worker starts its head and runs the script, all others join.

They meet at the port of the gang. Ray takes ports of its own, which nobody chooses before they are free: the head tells
its own to the first worker, and this one to the others. Whoever does not know the token of the attempt is not told, and
neither does Ray answer it.

    first worker   its head is up ──▶ tells it ──▶ all have joined ──▶ runs the script ──▶ tells the exit code
    every other    meets the first worker ──▶ joins the head ──▶ waits ──▶ ends its node with the same exit code
"""

import hashlib
import hmac
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress

from muster.worker.gang.companion import SIGNALS
from muster.worker.gang.line import MEET_PAUSE_S, MEET_S, Line, Message
from muster.worker.gang.ray_node import MISSING, NodeFailed, NodeOfGang, find_ray
from muster.worker.gang.started_commands import SHELL

LOST = 1
HEAR_S = 5.0
"""How long the first worker waits for the others to end their nodes, before it ends its own."""

LOOK_S = 0.2

BACKLOG = 1024
GREETING_BYTES = 4096


def lead(host: str, port: int, gang: str, workers: int, cpus: int, file: str) -> int:
    """Be the head, wait for all workers, and run the script. Returns how it ended."""
    program = find_ray()
    if program is None:
        return _miss()
    _survive_signals()
    where = host if host.startswith("127.") else ""  # nodes may be reached by names and addresses that are not theirs
    with socket.create_server((where, port), backlog=BACKLOG) as door, NodeOfGang(program, cpus) as node:
        try:
            address = node.start_head(host)
        except NodeFailed as failed:
            return _fail(str(failed))
        lines = _all_joined(door, node, address, _proof(gang), workers - 1)
        if lines is None:
            return _fail("the head of Ray has ended before all workers had joined")
        code = _ran(file, node, address)
        for line in lines:
            line.say(over=code)
        give_up_s = time.monotonic() + HEAR_S
        for line in lines:
            select.select([line.connection], [], [], max(give_up_s - time.monotonic(), 0))  # until it hangs up
        return code


def join(host: str, port: int, gang: str, cpus: int) -> int:
    """Be a node of the first worker's cluster until that one ends. Returns what it says."""
    program = find_ray()
    if program is None:
        return _miss()
    _survive_signals()
    line = _met(host, port)
    line.say(gang=_proof(gang))
    with NodeOfGang(program, cpus) as node:
        address = _told(line, "head")
        if address is None:
            return _fail("the first worker has ended")
        try:
            node.join(str(address), line.connection.getsockname()[0])
        except NodeFailed as failed:
            return _fail(str(failed))
        line.say(joined=True)
        code = _told(line, "over", node)
        return code if isinstance(code, int) else LOST


def _all_joined(door: socket.socket, node: NodeOfGang, address: str, proof: str, expected: int) -> list[Line] | None:
    """The lines to all other workers, once each is a node of the cluster; None if the head has ended."""
    joined: list[Line] = []
    known: list[Line] = []
    with selectors.DefaultSelector() as selector:

        def greet() -> None:
            line = Line(door.accept()[0])
            selector.register(line.connection, selectors.EVENT_READ, lambda: hear(line))

        def hear(line: Line) -> None:
            messages = line.hear() if line in known else _greeting(line, proof)
            if messages is None:
                selector.unregister(line.connection)
                line.connection.close()
            elif line not in known:
                known.append(line)
                line.say(head=address)
            elif any(message.get("joined") for message in messages):
                selector.unregister(line.connection)
                joined.append(line)

        selector.register(door, selectors.EVENT_READ, greet)
        while len(joined) < expected:
            for key, _ in selector.select(LOOK_S):
                key.data()
            if not node.is_running:
                return None
    return joined


def _greeting(line: Line, proof: str) -> list[Message] | None:
    """The greeting of a worker of this attempt; None for anybody else. It comes in one piece."""
    try:
        if b"\n" not in line.connection.recv(GREETING_BYTES, socket.MSG_PEEK):
            return None
        messages = line.hear()
    except (OSError, ValueError):
        return None
    if not messages or not hmac.compare_digest(str(messages[0].get("gang", "")), proof):
        return None
    return messages


def _ran(file: str, node: NodeOfGang, address: str) -> int:
    """Run the script with the cluster. It hears what the worker is told."""
    child = subprocess.Popen([SHELL, file], process_group=0, env={**os.environ, **node.access, "RAY_ADDRESS": address})
    for number in SIGNALS:
        signal.signal(number, lambda number, _: _send(child.pid, number))
    while (code := child.poll()) is None:
        if not node.is_running:
            _send(child.pid, signal.SIGKILL)
            child.wait()
            return _fail("the head of Ray has ended")
        with suppress(subprocess.TimeoutExpired):
            child.wait(LOOK_S)
    return code if code >= 0 else 128 - code


def _told(line: Line, word: str, node: NodeOfGang | None = None) -> object:
    """What the first worker says under this word; None when it has gone, or the own node has."""
    while True:
        if select.select([line.connection], [], [], LOOK_S)[0]:
            messages = line.hear()
            if messages is None:
                return None
            for message in messages:
                if word in message:
                    return message[word]
        elif node is not None and not node.is_running:
            sys.stderr.write("muster: this worker's node of Ray has ended\n")
            return None


def _met(host: str, port: int) -> Line:
    """A connection to the first worker, as soon as it is there."""
    give_up_s = time.monotonic() + MEET_S
    while True:
        try:
            return Line(socket.create_connection((host, port)))
        except OSError:
            if time.monotonic() > give_up_s:
                sys.exit("muster: the first worker of the gang did not come up")
            time.sleep(MEET_PAUSE_S)


def _proof(gang: str) -> str:
    """What only workers of this attempt can say."""
    return hmac.new(os.environ.get("MUSTER_TOKEN", "").encode(), gang.encode(), hashlib.sha256).hexdigest()


def _survive_signals() -> None:
    """Workers are all told at once. The cluster stays until the script has ended, which hears it."""
    for each in SIGNALS:
        signal.signal(each, lambda *_: None)


def _send(group: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, number)


def _miss() -> int:
    sys.stderr.write(f"muster: {MISSING}\n")
    return 127


def _fail(problem: str) -> int:
    sys.stderr.write(f"muster: {problem}\n")
    return LOST
