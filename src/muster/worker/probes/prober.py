"""Measures again and again, and hands values to the supervisor.

What may hang with a disk or a driver is read on a thread of its own. Commands are processes with a time limit. The loop
of the supervisor only takes what is ready.
"""

import os
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from muster.model.node_limits import (
    NODE_TEST_MS,
    PROBE_COMMAND_MS,
    PROBE_EVERY_LEAST_MS,
    PROBE_EVERY_MS,
    PROBE_OUTPUT_BYTES,
)
from muster.model.records import evolve
from muster.model.telemetry import NodeTested, ProbeNote, Signal, Telemetry
from muster.worker.launch.environment import TOKEN_VARIABLE
from muster.worker.launch.launch_spec import NodeContext
from muster.worker.loop import Loop
from muster.worker.messages import BadMessage
from muster.worker.probes.counters import Counters
from muster.worker.probes.machine import MachineProbe
from muster.worker.probes.nvidia import SMI_COMMAND, SMI_EVERY_MS, Gpus, from_smi, nvml_probe
from muster.worker.probes.signal_lines import read_signals
from muster.worker.processes.bounded_command import BoundedCommand, CommandEnd, CommandLimits
from muster.worker.processes.companions import Companions
from muster.worker.processes.strays import badge

_AS_SHELL = ("/bin/sh", "-c", 'cd -- "$0" 2>/dev/null || cd /; PATH="$PATH:$PWD"; eval "$1"')
"""Runs a command in a folder, where its own programs are found too."""

COMMAND, TEST, SMI = "command", "test", "nvidia-smi"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSettings:
    """What a node measures, as its control plane says."""

    every_ms: int = PROBE_EVERY_MS
    command: str = ""
    test: str = ""
    folder: str = "/"
    """Where the commands run: the folder of the configuration."""
    is_shared: bool = False
    """True when several nodes share this machine. Then its GPUs are numbers and not devices."""
    gpus: int = 0

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "ProbeSettings":
        """The settings in a message."""
        match body:
            case {"every_ms": int(every_ms), "command": str(command), "test": str(test), "folder": str(folder)}:
                return cls(
                    every_ms=max(every_ms, PROBE_EVERY_LEAST_MS),
                    command=command,
                    test=test,
                    folder=folder or "/",
                    is_shared=bool(body.get("is_shared")),
                    gpus=int(body.get("gpus", 0)),
                )
            case _:
                raise BadMessage("not the settings of probes")


class Prober:
    """All probes of one node."""

    def __init__(
        self, context: NodeContext, loop: Loop, companions: Companions, measured: Callable[[Telemetry], None]
    ) -> None:
        """Measures nothing until it was configured."""
        self._context = context
        self._loop = loop
        self._companions = companions
        self._measured = measured
        self._settings: ProbeSettings | None = None
        self._counters = Counters(context.folder)
        self._gpus = Gpus(context.node, 0)
        self._reported: dict[tuple[object, ...], Signal] | None = None
        """What the command reported the last time it ran well; None before."""
        self._notes: dict[str, str] = {}
        self._running: dict[str, BoundedCommand] = {}
        self._uses_smi = False
        self._smi_s = 0.0
        """When `nvidia-smi` ran last."""
        self._ready: deque[tuple[tuple[Signal, ...], str]] = deque()
        """What the thread has measured, and what went wrong."""
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._wanted = threading.Event()
        loop.watch(self._bell, readable=self._take_ready)

    def configure(self, settings: ProbeSettings) -> None:
        """Measure this from now on."""
        before, self._settings = self._settings, settings
        for probe, text in self._notes.items():  # a control plane that was started meanwhile does not know them
            self._measured(ProbeNote(node=self._context.node, at_ms=_now_ms(), probe=probe, text=text))
        if before is None:
            self._gpus = Gpus(self._context.node, settings.gpus)
            threading.Thread(target=self._look_on, args=(settings,), name="probes", daemon=True).start()
            self._round()

    def test(self, number: int) -> None:
        """Run the test of the node, unless it is running."""
        settings = self._settings or ProbeSettings()
        if TEST in self._running:
            self._running[TEST].kill()
        if not settings.test:
            self._tested(number, CommandEnd(exit_code=127, output=b"", problem="no test is configured"))
            return
        self._run(TEST, _shell(settings, settings.test), NODE_TEST_MS, partial(self._tested, number))

    def close(self) -> None:
        """End what runs."""
        for running in self._running.values():
            running.kill()

    def _round(self) -> None:
        assert self._settings is not None
        self._loop.after(self._settings.every_ms, self._round)
        self._wanted.set()
        if self._settings.command and COMMAND not in self._running:
            command = _shell(self._settings, self._settings.command)
            self._run(COMMAND, command, PROBE_COMMAND_MS, self._reported_by_command)
        is_due = time.monotonic() - self._smi_s >= SMI_EVERY_MS / 1000
        if self._uses_smi and is_due and SMI not in self._running:
            self._smi_s = time.monotonic()
            self._run(SMI, ("/usr/bin/env", *SMI_COMMAND), PROBE_COMMAND_MS, self._reported_by_smi)
        self._counters.save()

    def _run(self, probe: str, command: Sequence[str], time_ms: int, done: Callable[[CommandEnd], None]) -> None:
        def ended(end: CommandEnd) -> None:
            if self._running.get(probe) is running:
                del self._running[probe]
            done(end)

        variables = {
            **self._context.variables,
            "MUSTER_NODE": self._context.node,
            # A supervisor that is started later ends what bears the name of its node and is not known to it.
            TOKEN_VARIABLE: f"{badge(self._context.home, self._context.node)}{'0' * 8}",
        }
        limits = CommandLimits(time_ms=time_ms, output_bytes=PROBE_OUTPUT_BYTES)
        try:
            running = BoundedCommand(
                command, variables, limits, loop=self._loop, companions=self._companions, done=ended
            )
        except OSError as error:
            done(CommandEnd(exit_code=126, output=b"", problem=f"cannot be started: {error.strerror}"))
            return
        self._running[probe] = running

    def _reported_by_command(self, end: CommandEnd) -> None:
        """Pass on what the command reported. What it does not mention any more is not measured any more."""
        at_ms = _now_ms()
        lines = read_signals(end.output, self._context.node, at_ms)
        self._note(COMMAND, end.problem or lines.problem)
        found = {signal.subject: signal for signal in lines.signals}
        for signal in found.values():
            self._measured(self._counters.complete(signal, is_first_run=self._reported is None))
        if end.problem or lines.problem:
            self._reported = {**(self._reported or {}), **found}
            return
        for subject, signal in (self._reported or {}).items():
            if subject not in found:
                self._measured(evolve(signal, at_ms=at_ms, is_gone=True))
        self._reported = found

    def _reported_by_smi(self, end: CommandEnd) -> None:
        self._note(SMI, end.problem)
        if not end.problem:
            for signal in self._gpus.signals(from_smi(end.output), _now_ms()):
                self._measured(self._counters.complete(signal, is_first_run=True))

    def _tested(self, number: int, end: CommandEnd) -> None:
        self._measured(
            NodeTested(
                node=self._context.node, at_ms=_now_ms(), number=number, exit_code=end.exit_code, problem=end.problem
            )
        )

    def _note(self, probe: str, text: str) -> None:
        """Tell once what is wrong with a probe, and once that it is right again."""
        said = f"the {probe} probe: {text}" if text else ""
        if self._notes.get(probe, "") != said:
            self._notes[probe] = said
            self._measured(ProbeNote(node=self._context.node, at_ms=_now_ms(), probe=probe, text=said))

    def _look_on(self, settings: ProbeSettings) -> None:
        """The thread: look at the machine whenever it is wanted."""
        machine = MachineProbe(self._context.node, self._context.home, is_shared=settings.is_shared)
        has_devices = settings.gpus > 0 and not settings.is_shared
        nvml = nvml_probe() if has_devices else None
        self._uses_smi = has_devices and nvml is None and shutil.which(SMI) is not None
        while True:
            self._wanted.wait()
            self._wanted.clear()
            at_ms, problem = _now_ms(), ""
            found = machine.look(at_ms)
            try:
                found += () if nvml is None else self._gpus.signals(nvml.look(), at_ms)
            except Exception as error:  # noqa: BLE001 - whatever the driver does, the other probes go on
                problem = f"{type(error).__name__}: {error}"
            self._ready.append((found, problem))
            os.eventfd_write(self._bell, 1)

    def _take_ready(self) -> None:
        os.eventfd_read(self._bell)
        while self._ready:
            signals, problem = self._ready.popleft()
            self._note("GPU", problem)
            for signal in signals:
                self._measured(self._counters.complete(signal, is_first_run=True))


def _shell(settings: ProbeSettings, command: str) -> tuple[str, ...]:
    return (*_AS_SHELL, settings.folder, command)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
