"""GPUs by the library and by the program, both pretended."""

from types import SimpleNamespace
from typing import Any

import pytest

from muster.model.ids import NodeName
from muster.worker.probes import nvidia
from muster.worker.probes.nvidia import Gpus, NvmlProbe, from_smi


class NVMLError(Exception):
    """What the library raises."""


class Library:
    """A pretended NVML with GPUs that can vanish."""

    NVMLError = NVMLError
    NVML_TEMPERATURE_GPU = 0
    NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 0, 1
    NVML_VOLATILE_ECC = 0
    nvmlEventTypeXidCriticalError = 8  # noqa: N815 (its name)

    def __init__(self, *gpus: str) -> None:
        self.gpus = list(gpus)
        self.lost: set[str] = set()
        self.xids: list[str] = []
        self.has_events = True

    def __getattr__(self, name: str) -> Any:
        simple = {
            "nvmlInit": lambda: None,
            "nvmlDeviceGetCount": lambda: len(self.gpus),
            "nvmlDeviceGetUUID": lambda handle: handle.encode(),
            "nvmlDeviceGetTemperature": lambda _handle, _kind: 61,
            "nvmlDeviceGetPowerUsage": lambda _handle: 300_900,
            "nvmlDeviceGetCurrentClocksThrottleReasons": lambda _handle: 0x40,
            "nvmlDeviceRegisterEvents": lambda *_: None,
        }
        return simple[name]

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:  # noqa: N802
        if self.gpus[index] in self.lost:
            raise NVMLError
        return self.gpus[index]

    def nvmlDeviceGetTotalEccErrors(self, _handle: str, kind: int, _counter: int) -> int:  # noqa: N802
        if kind == self.NVML_MEMORY_ERROR_TYPE_CORRECTED:
            raise NVMLError
        return 2

    def nvmlEventSetCreate(self) -> object:  # noqa: N802
        if not self.has_events:
            raise NVMLError
        return object()

    def nvmlEventSetWait_v2(self, _events: object, _wait: int) -> SimpleNamespace:  # noqa: N802
        if not self.xids:
            raise NVMLError
        return SimpleNamespace(device=self.xids.pop())


def shown(gpus: Gpus, probe: NvmlProbe) -> dict[tuple[int | None, str], int]:
    return {(each.gpu, each.signal): each.value for each in gpus.signals(probe.look(), 0)}


def test_a_gpu_tells_what_it_can() -> None:
    found = shown(Gpus(NodeName("n1"), 1), NvmlProbe(Library("a")))
    assert found == {
        (0, "gpu_temperature"): 61,
        (0, "gpu_power"): 300,
        (0, "gpu_throttled"): 1,
        (0, "gpu_ecc_uncorrected"): 2,
        (0, "gpu_xid"): 0,
        (0, "gpu_lost"): 0,
    }


def test_errors_of_the_driver_are_counted_by_gpu() -> None:
    library = Library("a", "b")
    gpus, probe = Gpus(NodeName("n1"), 2), NvmlProbe(library)
    shown(gpus, probe)
    library.xids = ["b", "b"]
    found = shown(gpus, probe)
    assert (found[0, "gpu_xid"], found[1, "gpu_xid"]) == (0, 2)


def test_a_driver_that_reports_no_errors_is_used_without() -> None:
    library = Library("a")
    library.has_events = False
    assert shown(Gpus(NodeName("n1"), 1), NvmlProbe(library))[0, "gpu_xid"] == 0


def test_a_gpu_that_vanishes_is_the_one_that_was_there() -> None:
    library = Library("a", "b", "c")
    gpus, probe = Gpus(NodeName("n1"), 3), NvmlProbe(library)
    shown(gpus, probe)
    library.gpus.remove("b")  # what was the third is the second now
    found = shown(gpus, probe)
    assert [found[gpu, "gpu_lost"] for gpu in range(3)] == [0, 1, 0]
    assert (2, "gpu_temperature") in found
    assert (1, "gpu_temperature") not in found
    library.lost.add("a")
    assert shown(gpus, probe)[0, "gpu_lost"] == 1


def test_a_gpu_that_was_never_seen_is_lost() -> None:
    assert shown(Gpus(NodeName("n1"), 2), NvmlProbe(Library("a")))[1, "gpu_lost"] == 1


def test_the_program_tells_the_same() -> None:
    output = (
        b"0, GPU-a, 61, 301.50, Not Active, Active, [N/A], 2\n1, GPU-b, 40, 90.1, Not Active, Not Active, 5, 0\nx\n"
    )
    found = {(each.gpu, each.signal): each.value for each in Gpus(NodeName("n1"), 2).signals(from_smi(output), 0)}
    assert (found[0, "gpu_temperature"], found[0, "gpu_power"], found[0, "gpu_throttled"]) == (61, 301, 1)
    assert (0, "gpu_ecc_corrected") not in found
    assert (found[1, "gpu_throttled"], found[1, "gpu_ecc_corrected"], found[1, "gpu_lost"]) == (0, 5, 0)


def test_without_library_or_driver_there_is_no_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(nvidia.__dict__, "NvmlProbe", NvmlProbe)
    monkeypatch.setitem(__import__("sys").modules, "pynvml", None)
    assert nvidia.nvml_probe() is None

    class NoDriver(Library):
        def nvmlInit(self) -> None:  # noqa: N802
            raise NVMLError

    monkeypatch.setitem(__import__("sys").modules, "pynvml", NoDriver())
    assert nvidia.nvml_probe() is None
    monkeypatch.setitem(__import__("sys").modules, "pynvml", Library("a"))
    assert nvidia.nvml_probe() is not None
