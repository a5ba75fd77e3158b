"""GPUs of NVIDIA: by their library where it is installed (`pip install nvidia-ml-py`), or by `nvidia-smi`."""

from collections.abc import Iterator
from typing import Any

from muster.model.ids import NodeName
from muster.model.telemetry import Signal

SMI_QUERY = (
    "index,uuid,temperature.gpu,power.draw,clocks_throttle_reasons.hw_slowdown,"
    "clocks_throttle_reasons.sw_thermal_slowdown,ecc.errors.corrected.volatile.total,"
    "ecc.errors.uncorrected.volatile.total"
)
SMI_COMMAND = ("nvidia-smi", f"--query-gpu={SMI_QUERY}", "--format=csv,noheader,nounits")

SMI_EVERY_MS = 60_000
"""`nvidia-smi` takes a tenth of a second of a core, so it runs less often than other probes."""

_HW_SLOWDOWN, _SW_THERMAL, _HW_THERMAL, _POWER_BRAKE = 0x8, 0x20, 0x40, 0x80
_TROUBLE = _HW_SLOWDOWN | _SW_THERMAL | _HW_THERMAL | _POWER_BRAKE
"""Reasons to run slower that are no good sign. Running at a power cap is normal."""

Reading = tuple[int, str, int]
"""A GPU, a signal and its value."""


class Gpus:
    """Which GPUs the node had, so that one that vanishes is noticed."""

    def __init__(self, node: NodeName, expected: int) -> None:
        self._node = node
        self._expected = expected
        self._places: dict[str, int] = {}
        """The index of each GPU when it was first seen: the indices of others change when one vanishes."""

    def signals(self, found: dict[str, tuple[int, list[Reading]]], at_ms: int) -> tuple[Signal, ...]:
        """The readings of GPUs by their identity, and which GPUs are lost."""
        if not self._places and found:
            self._places = {identity: index for identity, (index, _) in found.items()}
        readings = [
            (self._places.get(identity, index), name, value)
            for identity, (index, values) in found.items()
            for _, name, value in values
        ]
        lost = [place for identity, place in self._places.items() if identity not in found]
        never = [index for index in range(self._expected) if index not in self._places.values()]
        present = [self._places[identity] for identity in found if identity in self._places]
        flags = [*((gpu, "gpu_lost", 1) for gpu in (*lost, *never)), *((gpu, "gpu_lost", 0) for gpu in present)]
        return tuple(
            Signal(node=self._node, at_ms=at_ms, signal=name, value=value, gpu=gpu)
            for gpu, name, value in (*readings, *flags)
        )


class NvmlProbe:
    """GPUs through NVIDIA's library. Calls may hang with the driver, so they are made on a thread of their own."""

    def __init__(self, library: Any) -> None:
        """Raises an error of the library when there is no driver."""
        self._library = library
        library.nvmlInit()
        self._xids: dict[str, int] = {}
        self._events: Any = None
        self._watched: dict[str, None] = {}

    def look(self) -> dict[str, tuple[int, list[Reading]]]:
        """All GPUs that answer, by their identity."""
        library = self._library
        found: dict[str, tuple[int, list[Reading]]] = {}
        for index in range(library.nvmlDeviceGetCount()):
            try:
                handle = library.nvmlDeviceGetHandleByIndex(index)
                identity = _words(library.nvmlDeviceGetUUID(handle))
            except library.NVMLError:  # it is lost
                continue
            self._watch(handle, identity)
            found[identity] = (index, [(index, name, value) for name, value in self._values(handle)])
        self._take_events()
        for identity, (index, values) in found.items():
            values.append((index, "gpu_xid", self._xids.get(identity, 0)))
        return found

    def _values(self, handle: Any) -> Iterator[tuple[str, int]]:
        library = self._library
        asked = (
            ("gpu_temperature", lambda: library.nvmlDeviceGetTemperature(handle, library.NVML_TEMPERATURE_GPU)),
            ("gpu_power", lambda: library.nvmlDeviceGetPowerUsage(handle) // 1000),
            ("gpu_throttled", lambda: self._is_throttled(handle)),
            ("gpu_ecc_corrected", lambda: self._ecc(handle, library.NVML_MEMORY_ERROR_TYPE_CORRECTED)),
            ("gpu_ecc_uncorrected", lambda: self._ecc(handle, library.NVML_MEMORY_ERROR_TYPE_UNCORRECTED)),
        )
        for name, ask in asked:
            try:
                yield name, int(ask())
            except library.NVMLError:  # this GPU cannot tell
                continue

    def _is_throttled(self, handle: Any) -> bool:
        return bool(self._library.nvmlDeviceGetCurrentClocksThrottleReasons(handle) & _TROUBLE)

    def _ecc(self, handle: Any, kind: Any) -> int:
        return int(self._library.nvmlDeviceGetTotalEccErrors(handle, kind, self._library.NVML_VOLATILE_ECC))

    def _watch(self, handle: Any, identity: str) -> None:
        """Have the driver report critical errors of a GPU."""
        if identity in self._watched:
            return
        self._watched[identity] = None
        library = self._library
        try:
            self._events = self._events or library.nvmlEventSetCreate()
            library.nvmlDeviceRegisterEvents(handle, library.nvmlEventTypeXidCriticalError, self._events)
        except library.NVMLError:  # not supported here
            return

    def _take_events(self) -> None:
        """Count the errors that were reported. The wait ends with an error when there is none."""
        library = self._library
        while self._events is not None:
            try:
                event = library.nvmlEventSetWait_v2(self._events, 0)
                identity = _words(library.nvmlDeviceGetUUID(event.device))
            except library.NVMLError:
                return
            self._xids[identity] = self._xids.get(identity, 0) + 1


def nvml_probe() -> NvmlProbe | None:
    """The probe, if the library is installed and finds a driver."""
    try:
        import pynvml  # noqa: PLC0415 (optional, and takes a moment)
    except ImportError:
        return None
    try:
        return NvmlProbe(pynvml)
    except pynvml.NVMLError:
        return None


def from_smi(output: bytes) -> dict[str, tuple[int, list[Reading]]]:
    """What `nvidia-smi` printed. Values that a GPU does not have are left out."""
    found: dict[str, tuple[int, list[Reading]]] = {}
    for line in output.decode("utf-8", "replace").splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(SMI_QUERY.split(",")) or not cells[0].isdecimal():
            continue
        index, slowed = int(cells[0]), "Active" in (cells[4], cells[5])
        named = (
            ("gpu_temperature", cells[2]),
            ("gpu_power", cells[3]),
            ("gpu_throttled", str(int(slowed))),
            ("gpu_ecc_corrected", cells[6]),
            ("gpu_ecc_uncorrected", cells[7]),
        )
        values = [(index, name, int(float(text))) for name, text in named if text.replace(".", "", 1).isdecimal()]
        found[cells[1]] = (index, values)
    return found


def _words(text: str | bytes) -> str:
    return text.decode() if isinstance(text, bytes) else text
