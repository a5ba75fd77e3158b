"""For each signal, what is too much, and what is well again. docs/HEALTH.md shows them, and a test compares the two."""

from dataclasses import dataclass
from enum import IntEnum

from muster.model.telemetry import SIGNALS, VERDICTS, Signal

GIB = 1 << 30


class Severity(IntEnum):
    """How one value, or a thing as a whole, compares with its limits."""

    WELL = 0
    """Well inside the limits: what counts for coming back."""
    INSIDE = 1
    """Inside the limits, but too near to them to come back."""
    SUSPECT = 2
    BAD = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What is too much for one signal."""

    suspect: int
    bad: int
    well: int
    """Suspect and bad begin at these values. Up to the last one it is well; all the same way round."""
    words: str
    """What a finding says, with the placeholders `value`, `rise`, `best` and `readings`."""
    is_floor: bool = False
    """True when low values are bad."""
    suspect_readings: int = 1
    bad_readings: int = 1
    of: int = 1
    """A thing is suspect or bad when so many of so many readings in a row are."""

    def severity(self, signal: Signal) -> Severity:
        """How a single value compares with the limits."""
        sign = -1 if self.is_floor else 1
        amount = sign * measure(signal)
        if amount >= sign * self.bad:
            return Severity.BAD
        if amount >= sign * self.suspect:
            return Severity.SUSPECT
        return Severity.WELL if amount <= sign * self.well else Severity.INSIDE


def measure(signal: Signal) -> int:
    """The number that is compared with the limits."""
    kind = SIGNALS.get(signal.signal)
    if kind is None:
        return VERDICTS.index(signal.verdict)
    if kind.is_counter:
        return signal.rise
    if signal.signal == "nic_speed":
        return 1000 * signal.value // signal.best if signal.best > 0 else 1000
    return abs(signal.value) if signal.signal == "clock_offset" else signal.value


CUSTOM_LIMIT = Limit(suspect=1, bad=2, well=0, words="{name} says {verdict}")
"""A custom signal has decided by itself: ok, suspect, bad."""

LIMITS: dict[str, Limit] = {
    "gpu_temperature": Limit(suspect=88, bad=92, well=82, words="{value} °C", bad_readings=3, of=6),
    "gpu_throttled": Limit(
        suspect=1,
        bad=1,
        well=0,
        words="slowed down in {readings} readings",
        suspect_readings=3,
        bad_readings=6,
        of=12,
    ),
    "gpu_ecc_corrected": Limit(suspect=100, bad=1_000, well=10, words="{rise} corrected memory errors lately"),
    "gpu_ecc_uncorrected": Limit(suspect=1, bad=1, well=0, words="{rise} uncorrectable memory errors lately"),
    "gpu_xid": Limit(suspect=1, bad=1, well=0, words="driver errors (XID {value})"),
    "gpu_lost": Limit(suspect=1, bad=1, well=0, words="has vanished"),
    "nic_speed": Limit(
        suspect=900, bad=800, well=950, words="{value} of {best} Mbit/s", is_floor=True, bad_readings=3, of=6
    ),
    "nic_errors": Limit(suspect=10, bad=100, well=0, words="{rise} network errors lately"),
    "nic_down": Limit(suspect=1, bad=1, well=0, words="down in {readings} readings", bad_readings=3, of=12),
    "disk_free": Limit(
        suspect=5 * GIB, bad=GIB, well=6 * GIB, words="{value} bytes of disk free", is_floor=True, bad_readings=3, of=6
    ),
    "disk_errors": Limit(suspect=1, bad=10, well=0, words="{rise} disk errors lately"),
    "memory_errors": Limit(suspect=1, bad=10, well=0, words="{rise} memory errors lately"),
    "clock_offset": Limit(suspect=100, bad=500, well=50, words="its clock is off by {value} ms", bad_readings=3, of=6),
}
"""By signal. `gpu_power` has none, because what is too much depends on the GPU: it is only shown.

Counters are compared by their rise over the last readings, the speed of an interface by its share of the best one so
far in thousandths."""


def limit_of(signal: Signal) -> Limit | None:
    """The limit of a signal; None when it is only shown."""
    return LIMITS.get(signal.signal) if signal.signal in SIGNALS else CUSTOM_LIMIT


def budget_readings(limit: Limit) -> int:
    """How many readings a thing that is bad in every reading may stay in service, one for an unlucky begin included."""
    return limit.bad_readings + 1
