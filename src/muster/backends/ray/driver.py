"""The process that talks to Ray for the server: a Python that has Ray, which the server need not.

A Ray that hangs, aborts or is of another version harms that process only. It is begun when it is needed, given up when
it does not answer in time, and begun anew after a pause. It ends when its input does, and so with the server.
"""

import base64
import json
import os
import select
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from muster.backends.allocations.engine import EngineSilent, RequestRefused
from muster.model.node_limits import ENGINE_CALL_S

PROGRAM = Path(__file__).with_name("on_ray") / "driver_program.py"

PAUSES_S = (0.5, 1.0, 2.0, 5.0, 10.0)
"""How long to wait before the next driver is begun, after so many that have failed; the last is kept."""

ANSWER_BYTES = 64 << 20
"""More than a cluster of ten thousand nodes says of itself."""

READ_BYTES = 1 << 20

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RayPlace:
    """Which cluster is meant, and what talks to it."""

    address: str
    """Where its head listens."""
    python: str
    """A Python of this machine that has Ray, perhaps with options."""
    mark: Callable[[], str]
    """Tells the actors of this Muster from those of others."""
    agent: Callable[[], bytes] = field(repr=False)
    """The agent's file."""


class RayDriver:
    """One driver at a time. Only one thread calls it."""

    def __init__(self, place: RayPlace) -> None:
        self._place = place
        self._process: subprocess.Popen[bytes] | None = None
        self._left = b""
        """What it has said beyond the last line that was read."""
        self._failures = 0
        self._problem = ""
        self._again_s = 0.0
        """Before then no other driver is begun, by a monotonic clock."""

    def call(self, name: str, **details: object) -> Any:
        """What Ray answers. Raises `EngineSilent` or `RequestRefused`."""
        give_up_s = time.monotonic() + ENGINE_CALL_S
        process = self._process or self._begun(give_up_s)
        return self._asked(process, {"call": name, **details}, give_up_s)

    def close(self) -> None:
        """End the driver. What stands in Ray stays."""
        if (process := self._process) is not None:
            self._process, self._left = None, b""
            for stream in (process.stdin, process.stdout):
                with suppress(OSError):
                    _open(stream).close()
            process.kill()
            process.wait()

    def _begun(self, give_up_s: float) -> subprocess.Popen[bytes]:
        """A driver that is connected with the cluster."""
        if time.monotonic() < self._again_s:
            raise EngineSilent(self._problem)
        command = [*shlex.split(self._place.python), "-u", str(PROGRAM)]
        variables = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": ""}
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=variables
            )
        except OSError as error:
            raise self._failed(
                f"{command[0]} cannot be run ({error.strerror}): name a Python that has Ray with the key `driver`"
            ) from None
        self._process = process
        agent = base64.b64encode(self._place.agent()).decode()
        self._asked(process, {"address": self._place.address, "mark": self._place.mark(), "agent": agent}, give_up_s)
        self._failures = 0
        return process

    def _asked(self, process: subprocess.Popen[bytes], message: Message, give_up_s: float) -> Any:
        try:
            _open(process.stdin).write(json.dumps(message).encode() + b"\n")
            _open(process.stdin).flush()
            said = json.loads(self._line(process, give_up_s))
        except TimeoutError:
            raise self._failed(
                f"Ray has not answered for {ENGINE_CALL_S:.0f} s: is its head at {self._place.address} well?"
            ) from None
        except (OSError, ValueError):
            code = process.poll()
            how = f" (exit code {code})" if code is not None else ""
            raise self._failed(f"the driver of Ray has ended{how}: has the cluster at {self._place.address}?") from None
        if "refused" in said:
            raise RequestRefused(said["refused"])
        if "silent" in said:
            is_connected = "call" in message and not said.get("is_over")
            raise EngineSilent(said["silent"]) if is_connected else self._failed(said["silent"])
        return said["answer"]

    def _line(self, process: subprocess.Popen[bytes], give_up_s: float) -> bytes:
        """What it says next. Raises `TimeoutError`, and `BrokenPipeError` when it has ended."""
        stream = _open(process.stdout).fileno()
        while b"\n" not in self._left:
            if len(self._left) > ANSWER_BYTES:
                raise ValueError("its answer is too long")
            wait_s = give_up_s - time.monotonic()
            if wait_s <= 0 or not select.select([stream], [], [], wait_s)[0]:
                raise TimeoutError
            data = os.read(stream, READ_BYTES)
            if not data:
                raise BrokenPipeError
            self._left += data
        line, _, self._left = self._left.partition(b"\n")
        return line

    def _failed(self, problem: str) -> EngineSilent:
        """Give this driver up. The next call after a pause begins another."""
        self.close()
        self._problem = problem
        self._again_s = time.monotonic() + PAUSES_S[min(self._failures, len(PAUSES_S) - 1)]
        self._failures += 1
        return EngineSilent(problem)


def _open(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
