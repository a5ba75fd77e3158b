import pytest

from muster.formats.text.units import (
    BadValue,
    cpu_milli,
    duration_ms,
    duration_text,
    gpu_milli,
    memory_bytes,
    memory_value,
    milli,
    plain_number,
    shown,
    time_ms,
    time_text,
)


@pytest.mark.parametrize(
    ("written", "expected_ms"),
    [
        ("90s", 90_000),
        ("30m", 1_800_000),
        ("12h", 43_200_000),
        ("7d", 604_800_000),
        ("2w", 1_209_600_000),
        ("1h30m", 5_400_000),
        ("1h 30m", 5_400_000),
        ("1.5h", 5_400_000),
        ("250ms", 250),
        ("0s", 0),
        (90, 90_000),
        (0.25, 250),
    ],
)
def test_a_duration_is_read(written: object, expected_ms: int) -> None:
    assert duration_ms(written) == expected_ms


@pytest.mark.parametrize(
    "written", ["", "s", "1x", "1h1h", "30m1h", "-5s", "12:30", "1e3s", "90", True, None, -1, [], {}, "٣s", "9" * 400]
)
def test_what_is_no_duration_is_refused(written: object) -> None:
    with pytest.raises(BadValue):
        duration_ms(written)


def test_a_bare_number_in_quotes_is_told_its_unit() -> None:
    with pytest.raises(BadValue) as caught:
        duration_ms("90")
    assert caught.value.hint == "90s for seconds"


@pytest.mark.parametrize(
    ("duration", "text"), [(0, "0s"), (250, "250ms"), (90_000, "90s"), (5_400_000, "90m"), (1_209_600_000, "14d")]
)
def test_a_duration_is_written_in_its_largest_whole_unit(duration: int, text: str) -> None:
    assert duration_text(duration) == text


@pytest.mark.parametrize(
    ("written", "expected_bytes"),
    [
        ("512GiB", 512 << 30),
        ("512Gi", 512 << 30),
        ("1TiB", 1 << 40),
        ("1.5KiB", 1536),
        ("80GB", 80 * 10**9),
        ("80 gb", 80 * 10**9),
        ("7B", 7),
        (4096, 4096),
    ],
)
def test_a_size_is_read(written: object, expected_bytes: int) -> None:
    assert memory_bytes(written) == expected_bytes


@pytest.mark.parametrize("written", ["512", "GiB", "512XB", "-1GiB", True, None, [], "9999999PiB", 10**17])
def test_what_is_no_size_is_refused(written: object) -> None:
    with pytest.raises(BadValue):
        memory_bytes(written)


def test_a_unit_that_could_mean_two_things_is_refused_with_both() -> None:
    with pytest.raises(BadValue) as caught:
        memory_bytes("512G")
    assert caught.value.hint == "write 512GB or 512GiB"


@pytest.mark.parametrize(("size", "value"), [(0, 0), (1 << 40, "1TiB"), (1536 << 30, "1536GiB"), (1500, 1500)])
def test_a_size_is_written_in_its_largest_whole_unit(size: int, value: object) -> None:
    assert memory_value(size) == value


@pytest.mark.parametrize(
    ("written", "expected_milli"), [(8, 8000), (8.0, 8000), (0, 0), (0.25, 250), (0.29, 290), (0.3333, 333), (1, 1000)]
)
def test_a_number_of_gpus_is_read_exactly(written: object, expected_milli: int) -> None:
    assert gpu_milli(written) == expected_milli


@pytest.mark.parametrize("written", [1.5, 65, -1, 0.0001, "eight", "8", True, None, float("inf"), float("nan")])
def test_what_is_no_number_of_gpus_is_refused(written: object) -> None:
    with pytest.raises(BadValue):
        gpu_milli(written)


def test_six_sixths_of_a_gpu_fit_on_it() -> None:
    assert 6 * gpu_milli(0.16667) <= 1000


def test_cpus_may_be_parts() -> None:
    assert cpu_milli(0.5) == 500
    with pytest.raises(BadValue):
        cpu_milli(1e9)


@pytest.mark.parametrize(("thousandths", "number"), [(8000, 8), (250, 0.25), (0, 0)])
def test_thousandths_become_plain_numbers_and_come_back(thousandths: int, number: float) -> None:
    assert plain_number(thousandths) == number
    assert milli(number) == thousandths


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01t00:00:00z", "2026-01-01T00:00:00Z"),
        ("2026-01-01 02:00:00+02:00", "2026-01-01T00:00:00Z"),
        ("2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00.500Z"),
        ("2026-01-01T00:00:00.123456789Z", "2026-01-01T00:00:00.123Z"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
    ],
)
def test_a_time_is_read_and_written_in_utc(written: str, text: str) -> None:
    assert time_text(time_ms(written)) == text


@pytest.mark.parametrize(
    "written",
    [
        "2026-01-01",
        "2026-13-01T00:00:00Z",
        "2026-01-01T25:00:00Z",
        "1969-01-01T00:00:00Z",
        "9999-01-01T00:00:00Z",
        1,
        None,
    ],
)
def test_what_is_no_time_is_refused(written: object) -> None:
    with pytest.raises(BadValue):
        time_ms(written)


def test_a_time_without_its_zone_is_refused_with_a_hint() -> None:
    with pytest.raises(BadValue) as caught:
        time_ms("2026-01-01T00:00:00")
    assert "Z" in caught.value.hint


def test_a_time_beyond_the_calendar_is_still_written() -> None:
    assert time_text(10**18) == "9999-12-31T23:59:59Z"


def test_a_value_is_shown_shortly_whatever_it_holds() -> None:
    assert len(shown("x" * 1000)) < 70
    assert shown("\ud800").isprintable()
    values: tuple[object, ...] = (True, None, {}, [])
    assert [shown(each) for each in values] == ["true", "nothing", "a mapping", "a list"]
