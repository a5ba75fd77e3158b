"""What a driver of Ray would tell."""

from typing import Any


def a_node(name: str = "n0", **said: Any) -> dict[str, Any]:
    """A node with eight GPUs, all of which its keeper has."""
    resources = {"CPU": 16.0, "GPU": 8.0, "memory": 1e9, "accelerator_type:H100": 1.0, "node:10.0.0.1": 1.0}
    node = {
        "name": name,
        "id": f"{name}-id",
        "alive": True,
        "because": "",
        "address": "10.0.0.1",
        "resources": resources,
        "labels": {"ray.io/node-id": "ab", "topology/rack": "r1", "fast": "yes"},
        "free_gpus": 0,
        "keeper": a_keeper(),
        "problem": "",
    }
    return {**node, **said}


def a_keeper(*entries: dict[str, Any], devices: int = 8) -> dict[str, Any]:
    return {"devices": [str(number) for number in range(devices)], "entries": list(entries)}


def an_entry(phase: str = "running", *, devices: int = 2, nodes: tuple[str, ...] = ("n0", "n1"), **said: Any) -> Any:
    entry = {
        "id": "ab12",
        "nodes": list(nodes),
        "phase": phase,
        "devices": [str(number) for number in range(devices)],
        "is_overdue": False,
        "is_orderly": False,
    }
    return {**entry, **said}
