"""A control plane with an application over it, and people with tokens."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from fastapi import FastAPI

from muster.access.secrets import new_secret
from muster.api.app import create_app
from muster.api.deps import Agents, Deps, Settings
from muster.backends.agents.mirrored_files import MirroredFiles
from muster.backends.agents.switchboard import Switchboard
from muster.backends.fake import FakeBackend, GangScript
from muster.live.configuration import Configuration
from muster.live.control_plane import ControlPlane
from muster.live.publishing.metrics import Metrics
from muster.live.watching.progress_watch import JobProgress
from muster.model.access import Binding, Role, Token
from muster.model.ids import JobId, TeamPath
from muster.model.node import ClusterSpec
from muster.model.scenario import Rules
from muster.store.memory import MemoryStates
from muster.store.sql.store import SqlStore, open_store
from tests.api.ports_in_memory import Audit, Logs, Store, Terminals, Tokens, WatchedBackend
from tests.builders import NOW_MS, a_cluster, a_node, a_team

DEADLINE_S = 20.0

JOB_KEY = b"k" * 32
"""What the tokens of attempts are derived from."""

RULES = Rules(
    teams=(
        a_team("nlp", guaranteed={"*": 8}),
        a_team("nlp/pre"),
        a_team("vision"),
        a_team("default"),
    )
)
CLUSTER = a_cluster(*(a_node(f"n{number}", gpus=8) for number in range(1, 5)))

PEOPLE: dict[str, tuple[Binding, ...]] = {
    "viewer": (Binding(role=Role.VIEWER, team=TeamPath("nlp")),),
    "member": (Binding(role=Role.MEMBER, team=TeamPath("nlp")),),
    "colleague": (Binding(role=Role.MEMBER, team=TeamPath("nlp")),),
    "lead": (Binding(role=Role.LEAD, team=TeamPath("nlp")),),
    "other": (Binding(role=Role.LEAD, team=TeamPath("vision")),),
    "operator": (Binding(role=Role.OPERATOR),),
    "admin": (Binding(role=Role.ADMIN),),
}


class TestClock:
    """Goes on by a millisecond at each look, and further when told to."""

    __test__ = False

    def __init__(self) -> None:
        self._now_ms = NOW_MS

    def now_ms(self) -> int:
        self._now_ms += 1
        return self._now_ms

    def not_before(self, at_ms: int) -> None:
        self._now_ms = max(self._now_ms, at_ms)

    def from_wall(self, at_ms: int) -> int:
        return at_ms

    def advance(self, by_ms: int) -> None:
        self._now_ms += by_ms


@dataclass
class World:
    """Everything a test may look at."""

    control: ControlPlane
    store: Store
    backend: FakeBackend
    tokens: Tokens
    logs: Logs
    terminals: Terminals
    clock: TestClock
    app: FastAPI
    deps: Deps
    bundles: Path
    """Where the files of jobs are stored."""
    stacks: dict[str, dict[int, str]]
    """What the processes of jobs are doing."""
    kept_stacks: dict[tuple[str, int], dict[int, str]]
    """What they did when an attempt stood still."""
    progress: dict[str, JobProgress]
    secrets: dict[str, str] = field(default_factory=dict)

    def let_in(self, name: str, bindings: tuple[Binding, ...], **fields: Any) -> str:
        """Give a caller a token, and return its secret."""
        secret = new_secret()
        token = Token(
            id=secret.id,
            name=fields.pop("name", name),
            digest=secret.digest,
            bindings=bindings,
            created_ms=NOW_MS,
            **fields,
        )
        self.deps.tokens.add(token)
        self.secrets[name] = secret.text
        return secret.text

    @asynccontextmanager
    async def client(self, who: str | None = "admin") -> AsyncIterator[httpx.AsyncClient]:
        """A client that speaks to the application without a network between."""
        headers = {} if who is None else {"Authorization": f"Bearer {self.secrets[who]}"}
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
            yield client


class Kept:
    """What a store keeps, in memory."""

    def __init__(self) -> None:
        self.log = Store()
        self.jobs = self.log
        self.states = MemoryStates()
        self.audit = Audit(self.log)
        self.tokens = Tokens(self.log)


@contextmanager
def a_world(
    *,
    cluster: ClusterSpec = CLUSTER,
    rules: Rules = RULES,
    settings: Settings | None = None,
    starts: bool = True,
    home: Path | None = None,
) -> Iterator[World]:
    """A running control plane with all of `PEOPLE` let in; with a database in `home`, or else in memory."""
    kept = Kept()
    opened = nullcontext(kept) if home is None else open_store(f"sqlite:///{home / 'muster.db'}", write=True)
    with opened as store, TemporaryDirectory() as bundles:
        configuration = Configuration(cluster=cluster, rules=rules)
        yield from _lived(kept, store, configuration, settings or Settings(), starts, Path(bundles))


def _lived(
    kept: Kept,
    store: Kept | SqlStore,
    configuration: Configuration,
    settings: Settings,
    starts: bool,
    bundles: Path,
) -> Iterator[World]:
    clock, backend, metrics = TestClock(), WatchedBackend(now_ms=NOW_MS), Metrics()
    progress: dict[str, JobProgress] = {}
    kept_stacks: dict[tuple[str, int], dict[int, str]] = {}
    control = ControlPlane(
        log=store.log,
        states=store.states,
        archive=store.jobs,
        backend=backend,
        clock=clock,
        configuration=configuration,
        on_round=metrics.on_round,
    )
    metrics.watch(control)
    deps = Deps(
        control=control,
        tokens=store.tokens,
        audit=store.audit,
        events=store.log,
        jobs=store.jobs,
        backend=backend,
        clock=clock,
        metrics=metrics,
        settings=settings,
        job_key=JOB_KEY,
        bundles=bundles,
        progress=progress.get,
        kept_stacks=lambda job, attempt: kept_stacks.get((job, attempt)),
        agents=Agents(
            switchboard=Switchboard(),
            files=MirroredFiles(bundles, lambda *_: False),
            expects=lambda node: node.startswith("elsewhere-"),
        ),
    )
    app = create_app(deps)
    world = World(
        control=control,
        store=kept.log,
        backend=backend,
        tokens=kept.tokens,
        logs=backend.logs,
        terminals=backend.terminals,
        clock=clock,
        app=app,
        deps=deps,
        bundles=bundles,
        stacks=backend.shown_stacks,
        kept_stacks=kept_stacks,
        progress=progress,
    )
    for name, bindings in PEOPLE.items():
        world.let_in(name, bindings)
    if starts:
        control.start()
    try:
        yield world
    finally:
        control.stop()
        app.state.services.close()


def played(
    scenario: Callable[[World, httpx.AsyncClient], Awaitable[None]], *, who: str | None = "member", **fields: Any
) -> None:
    """Play a scenario in a world of its own, as one of `PEOPLE`."""

    async def play(world: World) -> None:
        async with world.client(who) as client:
            await scenario(world, client)

    with a_world(**fields) as world:
        asyncio.run(asyncio.wait_for(play(world), DEADLINE_S))


async def eventually(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Look until it is so. The scenario has a deadline."""
    while not await is_so():
        await asyncio.sleep(0.001)


def job_file(name: str = "train", *, team: str = "nlp", gpus: float = 1, **fields: Any) -> dict[str, Any]:
    """A job file as JSON."""
    return {"name": name, "team": team, "resources": {"gpus": gpus}, "run": "python train.py", **fields}


FOREVER = GangScript(run_ms=None)


async def submitted(client: httpx.AsyncClient, **fields: Any) -> JobId:
    """The id of a job that was let in."""
    held = fields.pop("held", False)
    answer = await client.post("/v1/jobs", json={"job": job_file(**fields), "held": held})
    assert answer.status_code == 201, answer.text
    return JobId(answer.json()["id"])
