"""The machine that Muster runs on, as nodes: one with everything it has, or several equal virtual nodes."""

import os
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path

from muster.model.ids import GpuType, NodeName
from muster.model.node import Node

try:
    import pynvml
except ImportError:  # an extra, useful only where there are NVIDIA GPUs
    pynvml = None

DISK_GRAIN_BYTES = 64 << 30
"""Disk is offered in steps of this size, so that the node does not change with every file that is written."""

MEMORY_KEPT_PERCENT = 10
"""Part of the memory that jobs do not get: it is kept for the system and for Muster itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What this machine has."""

    name: str
    cpus: int
    memory_bytes: int
    disk_bytes: int
    """Free space where Muster keeps its files."""
    gpus: int = 0
    gpu_type: str = ""


def this_machine(home: Path) -> Machine:
    """Look at the machine. GPUs are found through NVIDIA's library, where it is installed and finds a driver."""
    gpus, gpu_type = _nvidia_gpus()
    return Machine(
        name=socket.gethostname().split(".")[0].lower() or "local",
        cpus=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        disk_bytes=shutil.disk_usage(home).free,
        gpus=gpus,
        gpu_type=gpu_type,
    )


def whole(machine: Machine) -> tuple[Node, ...]:
    """The machine as one node."""
    return (
        Node(
            name=NodeName(machine.name),
            gpus=machine.gpus,
            gpu_type=GpuType(machine.gpu_type),
            cpu_milli=machine.cpus * 1000,
            memory_bytes=_usable(machine.memory_bytes),
            disk_bytes=machine.disk_bytes // DISK_GRAIN_BYTES * DISK_GRAIN_BYTES,
        ),
    )


def divided(nodes: int, gpus: int) -> tuple[Node, ...]:
    """The machine as virtual nodes n1, n2, … with this many GPU slots each.

    The slots have no type: they stand for whatever GPUs a job asks for, and are numbers and not devices. CPUs, memory
    and disk are not counted either, so that a job file for a real cluster can be tried.
    """
    return tuple(Node(name=NodeName(f"n{number}"), gpus=gpus) for number in range(1, nodes + 1))


def _usable(memory_bytes: int) -> int:
    return memory_bytes * (100 - MEMORY_KEPT_PERCENT) // 100


def _nvidia_gpus() -> tuple[int, str]:
    """How many GPUs there are and of which type; none without the library or without a driver."""
    if pynvml is None:
        return 0, ""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return 0, ""
    try:
        count = pynvml.nvmlDeviceGetCount()
        name = pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(0)) if count else ""
    except pynvml.NVMLError:
        return 0, ""
    finally:
        pynvml.nvmlShutdown()
    return count, gpu_type(name)


def gpu_type(name: str | bytes) -> str:
    """A short word for a GPU's full name: `h100` for `NVIDIA H100 80GB HBM3`."""
    text = name.decode() if isinstance(name, bytes) else name
    words = [word for word in text.lower().replace("-", " ").split() if word not in ("nvidia", "tesla", "geforce")]
    return "-".join(words[:2]) if words[:1] in (["rtx"], ["gtx"]) else (words[0] if words else "")
