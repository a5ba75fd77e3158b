"""The application: routes, middlewares and what they share. Fails when a route has no permission and is not `Open`."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response

from muster import __version__
from muster.api import openapi
from muster.api.bundle_collection import collect_bundles
from muster.api.deps import Deps
from muster.api.front.body_limit import BodyLimit
from muster.api.front.compression import Compression
from muster.api.front.entrance import Entrance
from muster.api.front.forwarding import Forwarding, Leader
from muster.api.front.headers import Headers
from muster.api.front.hosts import Hosts
from muster.api.front.meter import Meter
from muster.api.front.relayed_terminals import RelayedTerminals
from muster.api.gate import check_guarded
from muster.api.problems import handlers
from muster.api.problems.failures import Failures
from muster.api.routes import (
    access,
    dashboard,
    events,
    export,
    health,
    history,
    jobs,
    machines,
    metrics,
    rules,
    what_if,
)
from muster.api.services import Services
from muster.model.errors import NotLeading

_ROUTERS = (
    *jobs.ROUTERS,
    export.router,
    *machines.ROUTERS,
    history.router,
    events.router,
    *rules.ROUTERS,
    *access.ROUTERS,
    what_if.router,
    health.router,
    metrics.router,
    dashboard.router,
)


def create_app(deps: Deps) -> FastAPI:
    """An application over one control plane."""
    app = _routed()
    services = app.state.services = Services(deps)
    handlers.install(app)
    if deps.stands_by:
        _pass_on(app, deps)
    app.add_middleware(BodyLimit, settings=deps.settings)
    app.add_middleware(Entrance, services=services)
    app.add_middleware(Hosts, allowed=deps.settings.hosts)
    app.add_middleware(Failures)
    app.add_middleware(Compression)
    app.add_middleware(Headers)
    app.add_middleware(Meter, metrics=deps.metrics)
    check_guarded(app)
    return app


def _pass_on(app: FastAPI, deps: Deps) -> None:
    """Have a standby pass on what only the leader can do. It knows the caller by then."""
    leader = app.state.leader = Leader(deps.control, deps.settings.conceal, deps.certificate)

    async def ask_leader(request: Request, _: Exception) -> Response:
        return await leader.answer(request)

    app.add_exception_handler(NotLeading, ask_leader)
    app.add_middleware(Forwarding, leader=leader)
    app.add_middleware(RelayedTerminals, leader=leader, conceal=deps.settings.conceal)


def described() -> dict[str, Any]:
    """The OpenAPI document, for use without a running server."""
    return _routed().openapi()


def _routed() -> FastAPI:
    """An application with all routes, but without a control plane behind them."""
    app = FastAPI(
        title="Muster",
        version=__version__,
        description=openapi.DESCRIPTION,
        openapi_tags=openapi.TAGS,
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
    )
    for router in _ROUTERS:
        app.include_router(router)
    openapi.install(app)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    services: Services = app.state.services
    # A standby leaves to the leader what changes files that they share.
    works = [] if services.deps.stands_by else [services.learn_unasked(), collect_bundles(services)]
    tasks = [asyncio.create_task(work) for work in works]
    yield
    services.close()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    leader: Leader | None = getattr(app.state, "leader", None)
    if leader is not None:
        await leader.close()
