"""A real server with the built dashboard, real nodes and real jobs, which can be lost and regained."""

import json
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest

from muster.api.dashboard.files import BUILT, PAGE
from muster.client import Client
from muster.model.errors import NotFound
from tests.crash.server import Server, until
from tests.e2e.conftest import Shell

CONFIGURATION = """
[cluster]
levels = ["rack"]
nodes = [
  {name = "a[1-2]", gpus = 4, gpu_type = "h100", rack = "ra"},
  {name = "b1", gpus = 4, gpu_type = "h100", rack = "rb"},
]
[policy]
min_runtime = "0s"
[teams.research]
guaranteed = {"*" = 4}
tiers = ["production", "standard", "exploratory"]
[teams.vision]
[teams.default]
[teams.language.teams.evaluation]
[teams.language.teams.pretraining]
"""


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Site:
    """The server and those who may do everything on it."""

    def __init__(self, folder: Path, configuration: str = CONFIGURATION) -> None:
        if not (BUILT / PAGE).exists():
            pytest.fail("the dashboard is not built: make web")
        folder.joinpath("muster.toml").write_text(configuration, "utf-8")
        self.home = folder / "home"
        self.home.mkdir()
        self.port = free_port()
        arguments = ("--config", str(folder / "muster.toml"), "--port", str(self.port))
        self.server = Server(self.home, nodes=None, arguments=arguments)
        self.shell = Shell(home=self.home, folder=folder)

    @property
    def url(self) -> str:
        """Where the dashboard is, also after it was away."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def client(self) -> Client:
        """The API, as the user whose machine this is."""
        return self.server.client

    def link(self) -> str:
        """What `muster open` prints."""
        return str(json.loads(self.shell.says("open", "--print", "-o", "json"))["url"])

    def token(self, name: str, team: str, role: str = "member") -> str:
        """The secret of a new user of a team."""
        made = self.client.create_token(name=name, bindings=[{"role": role, "team": team}])
        assert made.secret is not None
        return made.secret

    def submit(self, name: str, *, run: str = "sleep 1000", gpus: float = 1, **more: Any) -> str:
        """The id of a new job."""
        document = {"name": name, "team": "research", "resources": {"gpus": gpus}, "run": run, **more}
        return self.client.submit(document).id

    def ask(self, path: str, token: str = "") -> httpx.Response:
        """The answer of the API to whom the token belongs, or to who may do everything."""
        return httpx.get(f"{self.url}{path}", headers={"Authorization": f"Bearer {token or self.client.token}"})

    def read(self, path: str) -> Any:
        """What the API answers."""
        return self.ask(path).json()

    def post(self, path: str, document: dict[str, Any]) -> Any:
        """What the API answers to a request."""
        headers = {"Authorization": f"Bearer {self.client.token}"}
        answer = httpx.post(f"{self.url}{path}", json=document, headers=headers)
        assert answer.is_success, answer.text
        return answer.json()

    def delete(self, path: str) -> None:
        """End or remove something."""
        httpx.delete(f"{self.url}{path}", headers={"Authorization": f"Bearer {self.client.token}"}).raise_for_status()

    def await_state(self, job: str, *states: str) -> None:
        """Wait until the server says so."""
        until(lambda: self.client.job(job).state in states)

    def printed(self, job: str) -> bytes:
        """All that a job has printed; nothing before it has printed anything."""
        try:
            return b"".join(each.text for each in self.client.logs(job))
        except NotFound:
            return b""

    def cancel_all(self) -> None:
        """No job is left that holds a GPU."""
        for job in list(self.client.jobs(state=["active"])):
            self.client.cancel(job.id)
        until(lambda: not list(self.client.jobs(state=["active"])))
