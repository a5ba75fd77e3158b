"""A machine becomes nodes."""

from pathlib import Path

import pytest

from muster.backends.local.inventory import Machine, divided, gpu_type, this_machine, whole


def test_a_machine_is_one_node_with_most_of_its_memory() -> None:
    machine = Machine(name="box", cpus=8, memory_bytes=100 << 30, disk_bytes=1 << 40, gpus=2, gpu_type="h100")
    (node,) = whole(machine)
    assert (node.name, node.gpus, node.gpu_type, node.cpu_milli) == ("box", 2, "h100", 8_000)
    assert node.memory_bytes == 90 << 30


def test_virtual_nodes_have_stable_names_and_their_slots() -> None:
    assert [(node.name, node.gpus) for node in divided(3, 8)] == [("n1", 8), ("n2", 8), ("n3", 8)]


def test_this_machine_has_something(tmp_path: Path) -> None:
    machine = this_machine(tmp_path)
    assert machine.name
    assert min(machine.cpus, machine.memory_bytes, machine.disk_bytes) > 0


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA A100-SXM4-80GB", "a100"),
        (b"Tesla V100-PCIE-16GB", "v100"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("", ""),
    ],
)
def test_a_gpu_is_called_by_a_short_word(name: str | bytes, expected: str) -> None:
    assert gpu_type(name) == expected
