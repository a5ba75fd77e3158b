"""The simulations that a server runs: each in a process of its own, one after another, with limits on everything.

A process and not a thread, because a replay computes for minutes. The server hands it the question and reads how far it
is. What it found is kept in memory, the latest few, and forgotten when the server stops.
"""

import json
import logging
import os
import secrets as random_source
import subprocess
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec

from muster.access.secrets import digest_of
from muster.api.parsing.readers import INHERITED
from muster.model.client_limits import (
    REPORT_LINK_MS,
    REPORT_LINKS,
    WHAT_IF_ANSWER_BYTES,
    WHAT_IF_S,
    WHAT_IFS_KEPT,
    WHAT_IFS_WAITING,
)
from muster.model.errors import Conflict, NotFound, TooMany
from muster.model.trace import WhatIf

_log = logging.getLogger("muster.api")

TICKET_BYTES = 24


class SimulationState(StrEnum):
    """How far a simulation is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(slots=True, kw_only=True)
class Simulation:
    """One simulation. Its thread changes it, and requests read it."""

    id: str
    by: str
    made_ms: int
    asked: Mapping[str, Any]
    jobs: int
    state: SimulationState = SimulationState.WAITING
    done: float = 0.0
    """The part of it that is done."""
    problem: str = ""
    figures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Of today and of what was asked."""
    report: bytes = b""
    scripts: tuple[str, ...] = ()
    """The digests of the scripts in the report."""
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def is_over(self) -> bool:
        """True when nothing happens to it any more."""
        return self.state not in (SimulationState.WAITING, SimulationState.RUNNING)


class Simulations:
    """Runs simulations, and keeps the latest."""

    def __init__(self, command: Sequence[str], *, most_s: float = WHAT_IF_S) -> None:
        """`command` is the process that simulates; empty where there is none."""
        self._command = tuple(command)
        self._most_s = most_s
        self._runs: OrderedDict[str, Simulation] = OrderedDict()
        self._tickets: dict[str, tuple[int, Simulation]] = {}
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="what-if")
        self._number = 0

    def start(self, question: WhatIf, *, by: str, asked: Mapping[str, Any], now_ms: int) -> Simulation:
        """Have a question answered, after those before it. Raises when too many wait."""
        if not self._command:
            raise Conflict("this server was started without a simulator; `muster simulate` needs none")
        with self._lock:
            if sum(not run.is_over for run in self._runs.values()) > WHAT_IFS_WAITING:
                raise TooMany(f"{WHAT_IFS_WAITING} simulations wait already; cancel one, or try again later")
            self._number += 1
            run = Simulation(
                id=f"what-if-{self._number}", by=by, made_ms=now_ms, asked=asked, jobs=len(question.trace.jobs)
            )
            self._runs[run.id] = run
            self._forget()
        self._thread.submit(self._answered, run, msgspec.msgpack.encode(question))
        return run

    def all(self) -> list[Simulation]:
        """Those that are known, the newest first."""
        with self._lock:
            return list(reversed(self._runs.values()))

    def find(self, run: str) -> Simulation:
        """One of them."""
        with self._lock:
            if run not in self._runs:
                raise NotFound(f"there is no simulation {run}; those of long ago are forgotten")
            return self._runs[run]

    def cancel(self, run: Simulation) -> None:
        """End a simulation. One that is over stays as it is."""
        with self._lock:
            if run.is_over:
                return
            run.state = SimulationState.CANCELLED
            if run.process is not None:
                run.process.kill()

    def link(self, run: Simulation, now_ms: int) -> str:
        """A ticket with which a frame of the page loads the report: it cannot say who asks. It is good once."""
        if run.state is not SimulationState.DONE:
            raise Conflict(f"{run.id} has no report: it is {run.state}")
        ticket = random_source.token_urlsafe(TICKET_BYTES)
        with self._lock:
            self._tickets = {each: held for each, held in self._tickets.items() if now_ms < held[0]}
            if len(self._tickets) >= REPORT_LINKS:
                raise TooMany("too many reports are being opened; try again in a minute", retry_s=60)
            self._tickets[digest_of(ticket)] = (now_ms + REPORT_LINK_MS, run)
        return ticket

    def redeem(self, ticket: str, now_ms: int) -> Simulation:
        """The simulation to whose report a ticket leads."""
        with self._lock:
            until_ms, run = self._tickets.pop(digest_of(ticket), (0, None))
        if run is None or now_ms >= until_ms:
            raise NotFound("this link was used already, or is older than a minute; open the report again")
        return run

    def close(self) -> None:
        """End all simulations."""
        for run in self.all():
            self.cancel(run)
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _forget(self) -> None:
        over = [run.id for run in self._runs.values() if run.is_over]
        for each in over[: max(0, len(self._runs) - WHAT_IFS_KEPT)]:
            del self._runs[each]

    def _answered(self, run: Simulation, question: bytes) -> None:
        """Run the process of one simulation to its end."""
        try:
            if not self._begun(run):
                return
            assert run.process is not None
            watch = threading.Timer(self._most_s, run.process.kill)
            watch.daemon = True
            watch.start()
            try:
                _exchanged(run, run.process, question)
            finally:
                watch.cancel()
                run.process.kill()
                run.process.wait()
            self._ended(run)
        except Exception:  # noqa: BLE001 (nobody waits for this thread, and what never ended would keep its place)
            _log.exception("a what-if simulation could not be run")
            run.problem = "the simulation could not be run; the server's log says why"
            self._ended(run)

    def _begun(self, run: Simulation) -> bool:
        with self._lock:
            if run.is_over:
                return False
            run.process = _started(self._command)
            run.state = SimulationState.RUNNING
            return True

    def _ended(self, run: Simulation) -> None:
        with self._lock:
            if run.is_over:
                return
            run.state = SimulationState.DONE if run.figures else SimulationState.FAILED
            if not run.figures and not run.problem:
                run.problem = "the simulation took too long or too much memory; choose a shorter time"


def _started(command: Sequence[str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={name: os.environ[name] for name in INHERITED if name in os.environ},
        start_new_session=True,
    )


def _exchanged(run: Simulation, process: "subprocess.Popen[bytes]", question: bytes) -> None:
    """Hand the question over, and note what the process tells."""
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout, suppress(OSError, ValueError):
        process.stdin.write(question)
        process.stdin.close()
        while line := process.stdout.readline(WHAT_IF_ANSWER_BYTES):
            _noted(run, json.loads(line))


def _noted(run: Simulation, told: Mapping[str, Any]) -> None:
    run.done = told.get("done", run.done)
    run.problem = told.get("problem", run.problem)
    if "report" in told:
        run.report, run.scripts, run.done = told["report"].encode(), tuple(told["scripts"]), 1.0
        run.figures = {"today": told["today"], "changed": told["changed"]}
