"""Glances at clusters that tests make up."""

from datetime import UTC, datetime
from typing import Any

from muster.cli.top.glance import Glance
from muster.client.answers import Job, Node
from muster.client.building import build
from tests.unit.client.fake_server import Json, a_job, a_node, a_running_job

NOON = datetime(2026, 3, 2, 12, 0, 0, tzinfo=UTC)


def a_glance(jobs: list[Json] | None = None, nodes: list[Json] | None = None, **queue: Any) -> Glance:
    """What a server with these jobs and nodes says at noon."""
    return Glance(
        url="http://127.0.0.1:8470",
        present=NOON,
        jobs=[build(Job, each) for each in jobs or []],
        nodes=[build(Node, each) for each in nodes or []],
        queue=queue,
    )


def on(node: str, *gpus: int, share: float | None = None) -> Json:
    """A worker on GPUs of a node."""
    return {"rank": 0, "role": "worker", "node": node, "gpus": list(gpus), "share": share}


def busy(name: str, gpus: float, *jobs: str, **more: Any) -> Json:
    """A node with so many GPUs in use."""
    return a_node(name, used={"gpus": gpus, "cpus": 0, "memory_bytes": 0}, jobs=list(jobs), **more)


__all__ = ["NOON", "a_glance", "a_job", "a_node", "a_running_job", "busy", "on"]
