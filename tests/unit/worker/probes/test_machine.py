"""The machine as the kernel shows it, from a folder that looks like /sys."""

from pathlib import Path

import pytest

from muster.model.ids import NodeName
from muster.worker.probes.machine import MachineProbe


class Sys:
    """A folder that looks like /sys."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.probe = MachineProbe(NodeName("n1"), root, root)

    def nic(self, name: str, state: str, *, speed: int | None = None, errors: int = 0, is_real: bool = True) -> None:
        folder = self.root / "class/net" / name
        for each in (folder / "statistics", *([folder / "device"] if is_real else [])):
            each.mkdir(parents=True, exist_ok=True)
        (folder / "operstate").write_text(f"{state}\n")
        for counter in ("rx_errors", "tx_errors"):
            (folder / "statistics" / counter).write_text(f"{errors}\n")
        if speed is not None:
            (folder / "speed").write_text(f"{speed}\n")

    def look(self) -> dict[tuple[str, str], int]:
        return {(each.signal, each.nic): each.value for each in self.probe.look(0)}


@pytest.fixture
def machine(tmp_path: Path) -> Sys:
    return Sys(tmp_path)


def test_a_link_has_a_state_a_speed_and_errors(machine: Sys) -> None:
    machine.nic("eth0", "up", speed=100_000, errors=2)
    found = machine.look()
    assert found["nic_down", "eth0"] == 0
    assert found["nic_speed", "eth0"] == 100_000
    assert found["nic_errors", "eth0"] == 4


def test_an_interface_that_never_had_a_link_is_no_fault(machine: Sys) -> None:
    machine.nic("eth0", "down", speed=-1)
    machine.nic("lo", "unknown", is_real=False)
    assert not any(name.startswith("nic") for name, _ in machine.look())


def test_a_link_that_goes_down_or_vanishes_is_down(machine: Sys) -> None:
    machine.nic("eth0", "up", speed=-1)
    assert ("nic_speed", "eth0") not in machine.look()
    machine.nic("eth0", "down")
    assert machine.look()["nic_down", "eth0"] == 1
    (machine.root / "class/net/eth0").rename(machine.root / "gone")
    machine.nic("eth1", "up")
    assert machine.look()["nic_down", "eth0"] == 1


def test_where_there_is_no_hardware_interfaces_are_known_by_their_names(machine: Sys) -> None:
    for name in ("eth0", "docker0", "lo"):
        machine.nic(name, "up", is_real=False)
    assert {nic for _, nic in machine.look() if nic} == {"eth0"}


def test_disk_and_memory_errors_are_added_up_where_the_kernel_counts_them(machine: Sys) -> None:
    assert not {"disk_errors", "memory_errors"} & {name for name, _ in machine.look()}
    for path in ("fs/ext4/sda1/errors_count", "devices/system/edac/mc/mc0/ue_count"):
        (machine.root / path).parent.mkdir(parents=True)
        (machine.root / path).write_text("3\n")
    found = machine.look()
    assert (found["disk_errors", ""], found["memory_errors", ""]) == (3, 3)


def test_a_disk_that_cannot_be_asked_is_left_out(tmp_path: Path) -> None:
    probe = MachineProbe(NodeName("n1"), tmp_path / "missing", tmp_path)
    assert "disk_free" not in {each.signal for each in probe.look(0)}


def test_what_several_nodes_share_is_marked(tmp_path: Path) -> None:
    found = MachineProbe(NodeName("n1"), tmp_path, is_shared=True).look(0)
    assert all(each.is_shared for each in found)
    assert "disk_free" in {each.signal for each in found}
