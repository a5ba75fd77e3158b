"""A server that takes every agent of an engine's allocations."""

import asyncio
import threading
import time
from pathlib import Path

import uvicorn
from fastapi import FastAPI, WebSocket

from muster.api.deps import Agents
from muster.api.routes.machines.agents import join_agent, join_dial
from muster.backends.agents.mirrored_files import MirroredFiles
from muster.backends.local.backend import LocalBackend
from muster.model.ids import NodeName

DEADLINE_S = 20.0


class AgentServer:
    """Listens from the start, and serves once there is a backend."""

    def __init__(self) -> None:
        self._served: list[Agents] = []
        self._server = uvicorn.Server(uvicorn.Config(_app(self._served), port=0, log_level="error", lifespan="off"))
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        give_up_s = time.monotonic() + DEADLINE_S
        while not self._server.started:
            assert time.monotonic() < give_up_s, "in vain"
            time.sleep(0.002)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"

    def serve(self, home: Path, backend: LocalBackend, files: MirroredFiles | None = None) -> None:
        """Take agents for this backend from now on."""
        files = files or MirroredFiles(home, backend.has_run, backend.output_told)
        self._served.append(Agents(switchboard=backend.switchboard, files=files, expects=lambda _: True))

    def close(self) -> None:
        """Listen no more."""
        self._server.should_exit = True
        self._thread.join()


def _app(served: list[Agents]) -> FastAPI:
    app, closing = FastAPI(), asyncio.Event()

    @app.websocket("/v1/agents/{node}")
    async def connect(websocket: WebSocket, node: str) -> None:
        await join_agent(websocket, served[-1], NodeName(node), "", closing)

    @app.websocket("/v1/agents/{node}/dials/{number}")
    async def dial(websocket: WebSocket, node: str, number: str) -> None:
        await join_dial(websocket, served[-1], NodeName(node), number, closing)

    return app
