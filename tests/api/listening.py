"""An application behind a real server on loopback, for what only exists on a wire: streams and websockets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from muster.api.server import Listening, bound, serve_on
from tests.api.world import World


@asynccontextmanager
async def listening(world: World) -> AsyncIterator[str]:
    """The address of a server that is stopped in good order afterwards."""
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    where = Listening()
    listener = bound(where)
    serving = asyncio.ensure_future(serve_on(world.app, listener, where, on_listening=address.set_result))
    try:
        await asyncio.wait((serving, address), return_when=asyncio.FIRST_COMPLETED)
        yield address.result()
    finally:
        world.app.state.server.should_exit = True
        await serving
        listener.close()


@asynccontextmanager
async def caller(world: World, url: str, who: str = "member") -> AsyncIterator[httpx.AsyncClient]:
    """A client that speaks to a server over its socket."""
    headers = {"Authorization": f"Bearer {world.secrets[who]}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=30) as client:
        yield client
