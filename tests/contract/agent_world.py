"""The local backend with nodes whose agents connect over the network, as a world that a test can move.

Each agent is the one file that other machines get, in a home of its own, run by a Python that finds nothing of Muster.
"""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Annotated
from unittest.mock import patch

import uvicorn
from fastapi import FastAPI, Query, WebSocket

from muster.api.deps import Agents
from muster.api.routes.machines.agents import join_agent, join_dial
from muster.backends.agents.mirrored_files import MirroredFiles
from muster.backends.local import agent_link
from muster.backends.local.backend import LocalBackend
from muster.model.ids import EngineName, NodeName
from muster.model.node import Node
from muster.worker.agent.packing import agent_file
from muster.worker.launch.runtime_folder import runtime_folder
from muster.worker.supervisor_address import supervisor_address
from tests.contract.local_world import LocalWorld

NODES = (NodeName("n0"), NodeName("n1"))


class AgentWorld(LocalWorld):
    """Runs scripted gangs as real processes on two nodes that are elsewhere."""

    def __init__(self, home: Path) -> None:
        self._agents: dict[NodeName, subprocess.Popen[bytes]] = {}
        self._file = home / "muster-agent.pyz"
        self._file.write_bytes(agent_file())
        self._token = home / "token"
        self._token.write_text("none is asked for")
        super().__init__(home)

    def lose_node(self, node: NodeName) -> None:
        """Switch a machine off, and have somebody say so."""
        with patch.object(agent_link, "AGENT_ABSENT_MS", 100):
            self._agents[node].kill()
            self._agents[node].wait()
            self._wait(lambda: self._is_missed(node))
        found = supervisor_address(self._agent_home(node) / "nodes" / node)
        assert found is not None
        os.kill(found.pid, signal.SIGKILL)
        self._run_agent(node, "--end").wait()  # what a machine that is off runs is gone
        self._real.fenced(node, "lost")
        self._shadow.lose_node(node)

    def close(self) -> None:
        for node in NODES:
            self._agents[node].terminate()
            self._agents[node].wait()
            self._run_agent(node, "--end").wait()
        self._real.close()
        self._server.should_exit = True
        self._serving.join()

    def _backend(self, home: Path) -> LocalBackend:
        backend = LocalBackend(home, [Node(name=name, gpus=8, engine=EngineName("lab")) for name in NODES])
        agents = Agents(
            switchboard=backend.switchboard,
            files=MirroredFiles(home, backend.has_run),
            expects=lambda _: True,
        )
        config = uvicorn.Config(_app(agents), port=0, log_level="error", lifespan="off")
        self._server = uvicorn.Server(config)
        self._serving = threading.Thread(target=self._server.run, daemon=True)
        self._serving.start()
        self._wait(lambda: self._server.started)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self._url = f"http://127.0.0.1:{port}"
        for node in NODES:
            self._agents[node] = self._run_agent(node, "--url", self._url, "--token-file", str(self._token))
        return backend

    def _run_agent(self, node: NodeName, *options: str) -> subprocess.Popen[bytes]:
        # -S: nothing is installed there, and -E: no variable says where anything is.
        command = [sys.executable, "-S", "-E", str(self._file), "--node", node, "--home", str(self._agent_home(node))]
        return subprocess.Popen([*command, *options], stdin=subprocess.DEVNULL)

    def _agent_home(self, node: NodeName) -> Path:
        return self._home / f"machine-{node}"

    def _is_missed(self, node: NodeName) -> bool:
        return self._real._links[node].is_lost

    def _runtime_folders(self) -> tuple[str, ...]:
        return tuple(str(runtime_folder(self._agent_home(node))) for node in NODES)


def _app(agents: Agents) -> FastAPI:
    """A server that takes every agent."""
    app, closing = FastAPI(), asyncio.Event()

    @app.websocket("/v1/agents/{node}")
    async def connect(websocket: WebSocket, node: str, address: Annotated[str, Query()] = "") -> None:
        await join_agent(websocket, agents, NodeName(node), address, closing)

    @app.websocket("/v1/agents/{node}/dials/{number}")
    async def dial(websocket: WebSocket, node: str, number: str) -> None:
        await join_dial(websocket, agents, NodeName(node), number, closing)

    return app
