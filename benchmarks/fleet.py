"""What a fleet costs the server: `python -m benchmarks.fleet`, or with fewer agents `… --agents 200 --seconds 20`.

A real server, and agents that this process plays. Each connects by WebSocket with a token of its own, talks as the
supervisor of its node, runs no processes, and reports every ten seconds how far its workers are and what its probes
measured. They report spread over the ten seconds, as agents do that were not started at the same time.
"""

import argparse
import resource
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.core import report
from muster.access.permissions import Permission
from muster.client import Client
from muster.model.access import EVERY_TEAM, Role
from muster.model.ids import JobId, NodeName
from muster.model.instructions import KillWorkers, StartWorkers
from muster.model.reports import WorkersExited, WorkersStarted
from muster.model.telemetry import RankProgress, Signal
from muster.worker import messages
from muster.worker.agent.frames import BINARY, Frame
from muster.worker.agent.tunnel import ControlAddress, open_tunnel
from muster.worker.loop import Loop
from tests.crash.server import Server

AGENTS = 2_000
GPUS = 8
WORKERS_EACH = 5
GANG = 20
"""Workers of a job: four nodes."""
REPORT_MS = 10_000
MEASURED_S = 60
STARTED_S = 300
"""How long connecting the fleet and starting its jobs may take."""
SIGNALS = ("disk_free", "clock_offset", "memory_errors")
"""What a node without GPUs measures every time."""
FILES = 65_536


def main() -> None:
    """Connect a fleet, start a job on all of it, and measure what it costs while nothing else happens."""
    parser = argparse.ArgumentParser(description="Measure what a fleet of agents costs the server.")
    parser.add_argument("--agents", type=int, default=AGENTS)
    parser.add_argument("--seconds", type=int, default=MEASURED_S)
    asked = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, most), most))
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder:
        home = Path(folder)
        (home / "muster.toml").write_text(_configuration(asked.agents), "utf-8")
        with Server(home, nodes=None, arguments=("--config", str(home / "muster.toml"))) as server:
            server.start()
            _measure(server, asked.agents, asked.seconds)


def _configuration(agents: int) -> str:
    return (
        '[[engines]]\nname = "lab"\nkind = "agents"\n\n[cluster]\nlevels = ["rack"]\nnodes = [\n'
        + "".join(
            f'  {{name = "{name}", gpus = {GPUS}, rack = "r{number // 20}", engine = "lab"}},\n'
            for number, name in enumerate(_names(agents))
        )
        + "]\n"
    )


def _names(agents: int) -> Iterable[NodeName]:
    return [NodeName(f"n{number}") for number in range(agents)]


def _measure(server: Server, agents: int, seconds: int) -> None:
    tokens = _tokens(server.client, agents)
    before_s, began_s = server.cpu_s(), time.perf_counter()
    fleet = Fleet(server.client.url, tokens)
    playing = threading.Thread(target=fleet.play, daemon=True)
    playing.start()
    _await(lambda: fleet.greeted == agents, "not all agents were greeted")
    report(
        "agents connect",
        agents=agents,
        wall_s=round(time.perf_counter() - began_s, 1),
        server_cpu_s=round(server.cpu_s() - before_s, 1),
    )
    report("a fleet without work", **_cost(server, seconds))
    jobs = agents * WORKERS_EACH // GANG
    before_s, began_s = server.cpu_s(), time.perf_counter()
    spec = {"name": "fleet", "workers": GANG, "resources": {"gpus": 1}, "run": "true", "max_duration": "1d"}
    for _ in range(jobs):
        server.client.submit(spec)
    _await(lambda: fleet.started == jobs * GANG, "not all workers were started")
    report(
        "workers start",
        workers=jobs * GANG,
        wall_s=round(time.perf_counter() - began_s, 1),
        server_cpu_s=round(server.cpu_s() - before_s, 1),
    )
    heard = fleet.sent
    figures = _cost(server, seconds)
    report("a fleet at work", **figures, values_a_second=round((fleet.sent - heard) / seconds))
    fleet.stop()
    playing.join()


def _cost(server: Server, seconds: int) -> dict[str, Any]:
    """What the server needs while nobody but the agents talks to it, and how fast it answers others."""
    time.sleep(5)
    before_s, began_s, waits = server.cpu_s(), time.perf_counter(), list[float]()
    while time.perf_counter() - began_s < seconds:
        asked_s = time.perf_counter()
        list(server.client.jobs(state=["queued"]))
        waits.append(time.perf_counter() - asked_s)
        time.sleep(1)
    spent = (server.cpu_s() - before_s) / (time.perf_counter() - began_s)
    return {
        "core_percent": round(100 * spent, 1),
        "aim_percent": 30,
        "answer_ms_worst": round(1000 * max(waits), 1),
        "rss_mb": server.rss_mb(),
    }


def _await(is_so: Any, otherwise: str) -> None:
    give_up_s = time.monotonic() + STARTED_S
    while not is_so():
        if time.monotonic() > give_up_s:
            raise SystemExit(otherwise)
        time.sleep(0.05)


def _tokens(client: Client, agents: int) -> dict[NodeName, str]:
    def made(node: NodeName) -> str:
        answer = client.create_token(
            name=node,
            subject=f"agent/{node}",
            bindings=[{"role": Role.OPERATOR, "team": EVERY_TEAM}],
            scopes=[Permission.AGENTS_CONNECT],
            expires_in_s=86_400,
        )
        return answer.secret or ""

    with ThreadPoolExecutor(8) as pool:
        names = list(_names(agents))
        return dict(zip(names, pool.map(made, names), strict=True))


class Fleet:
    """All agents, on one thread."""

    def __init__(self, url: str, tokens: dict[NodeName, str]) -> None:
        self.greeted = self.started = self.sent = 0
        self._url = url
        self._tokens = tokens
        self._loop = Loop(settle=lambda: None)
        self._is_over = False

    def play(self) -> None:
        """Connect every agent, and answer until stopped."""
        agents = [PlayedAgent(node, self) for node in self._tokens]
        for number, (agent, token) in enumerate(zip(agents, self._tokens.values(), strict=True)):
            agent.connect(ControlAddress(url=self._url, token=token), self._loop, number * REPORT_MS / len(agents))
        self._tick()
        self._loop.run()

    def stop(self) -> None:
        """Let `play` return."""
        self._is_over = True

    def _tick(self) -> None:
        if self._is_over:
            self._loop.stop()
        self._loop.after(200, self._tick)


@dataclass(frozen=True, slots=True)
class PlayedRank:
    """A worker that is pretended to run."""

    job: JobId
    attempt: int
    rank: int
    world: int


class PlayedAgent:
    """One agent with its supervisor, as far as the server can tell."""

    def __init__(self, node: NodeName, fleet: Fleet) -> None:
        self._node = node
        self._fleet = fleet
        self._coming = bytearray()
        self._ranks: list[PlayedRank] = []
        self._reports = 0
        self._step = 0

    def connect(self, address: ControlAddress, loop: Loop, phase_ms: float) -> None:
        """Connect, and report every ten seconds from a moment on."""
        self._loop = loop
        self._tunnel = open_tunnel(address, f"/v1/agents/{self._node}", loop, self._hear)
        loop.after(phase_ms, self._measure)

    def _say(self, *said: Mapping[str, object]) -> None:
        self._tunnel.send(BINARY, b"".join(messages.line(each) for each in said))

    def _hear(self, frame: Frame) -> None:
        if frame.kind != BINARY:
            return
        self._coming += frame.payload
        *lines, rest = self._coming.split(b"\n")
        self._coming = bytearray(rest)
        for line in lines:
            self._answer(messages.parsed(bytes(line)))

    def _answer(self, message: dict[str, Any]) -> None:
        match message:
            case {"token": _}:
                self._say({"hello": {"protocol": messages.PROTOCOL, "gangs": [], "probes": True}}, {"greeted": True})
                self._fleet.greeted += 1
            case {"ping": number}:
                self._say({"pong": number})
            case {"do": number, "command": body}:
                self._say({"done": number})
                self._obey(messages.command(body))
            case _:
                pass

    def _obey(self, command: Any) -> None:
        now_ms = time.time_ns() // 1_000_000
        if isinstance(command, StartWorkers):
            ranks = tuple([worker.rank for worker in command.workers if worker.node == self._node])
            known = {each.rank for each in self._ranks if each.job == command.job}
            self._ranks += [
                PlayedRank(command.job, command.attempt, rank, len(command.gang)) for rank in ranks if rank not in known
            ]
            self._fleet.started += len(set(ranks) - known)
            self._report(WorkersStarted(at_ms=now_ms, ranks=ranks, **_named(command)))
        elif isinstance(command, KillWorkers):
            self._ranks = [each for each in self._ranks if each.job != command.job]
            self._report(WorkersExited(at_ms=now_ms, ranks=command.ranks, exit_code=137, **_named(command)))

    def _report(self, event: WorkersStarted | WorkersExited) -> None:
        self._reports += 1
        self._say({"report": self._reports, "event": messages.encoded(event)})

    def _measure(self) -> None:
        self._loop.after(REPORT_MS, self._measure)
        now_ms = time.time_ns() // 1_000_000
        self._step += 40
        values: list[Signal | RankProgress] = [
            Signal(node=self._node, at_ms=now_ms, signal=name, value=1_000_000_000) for name in SIGNALS
        ]
        values += [self._progress(each, now_ms) for each in self._ranks]
        self._fleet.sent += len(values)
        with suppress(OSError):
            self._say(*({"measured": messages.encoded(value)} for value in values))

    def _progress(self, each: PlayedRank, now_ms: int) -> RankProgress:
        return RankProgress(
            job=each.job,
            attempt=each.attempt,
            at_ms=now_ms,
            rank=each.rank,
            world=each.world,
            worker=each.rank,
            node=self._node,
            step=self._step,
            step_ms=now_ms,
            steps=40,
            step_us=250_000,
            busy_us=200_000,
            p99_us=300_000,
        )


def _named(command: StartWorkers | KillWorkers) -> dict[str, Any]:
    return {"job": command.job, "attempt": command.attempt, "generation": command.generation}


if __name__ == "__main__":
    main()
