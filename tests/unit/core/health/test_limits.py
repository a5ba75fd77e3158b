"""The table in docs/HEALTH.md says what the limits are."""

from pathlib import Path

import pytest

from muster.core.health import LIMITS, Limit, budget_readings
from muster.model.telemetry import SIGNALS

DOCUMENT = Path(__file__).parents[4] / "docs" / "HEALTH.md"
GIB = 1 << 30


def row(name: str, limit: Limit | None) -> str:
    """One line of the table."""
    kind = SIGNALS[name]
    takes = "the GPU" if kind.is_of_gpu else "the node"
    if limit is None:
        return f"| `{name}` | {kind.unit} | – | – | – | – | – | – |"
    sign, back = ("<=", "≥") if limit.is_floor else (">=", "≤")
    sign = sign.replace("<=", "≤").replace(">=", "≥")
    readings = f"{limit.bad_readings} of {limit.of}" if limit.of > 1 else "1"
    unit = {"nic_speed": "% of its best"}.get(name, kind.unit or "0 or 1")
    values = [f"{sign} {amount(name, limit.suspect)}", f"{sign} {amount(name, limit.bad)}"]
    cells = (f"`{name}`", unit, *values, readings, f"{back} {amount(name, limit.well)}", takes)
    return f"| {' | '.join(cells)} | {budget_readings(limit)} readings |"


def amount(name: str, value: int) -> str:
    if name == "nic_speed":
        return str(value // 10)
    if name == "disk_free":
        return f"{value // GIB} GiB"
    return f"{value} more" if SIGNALS[name].is_counter else str(value)


@pytest.mark.parametrize("name", SIGNALS)
def test_the_document_has_the_limits_of_each_signal(name: str) -> None:
    assert row(name, LIMITS.get(name)) in DOCUMENT.read_text("utf-8").splitlines()


def test_every_limit_is_of_a_signal_and_goes_one_way() -> None:
    assert not [name for name in LIMITS if name not in SIGNALS]
    for limit in LIMITS.values():
        sign = -1 if limit.is_floor else 1
        assert sign * limit.well < sign * limit.suspect <= sign * limit.bad
        assert limit.suspect_readings <= limit.bad_readings <= limit.of
