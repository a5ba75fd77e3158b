import pytest

from muster.formats.text.toml_text import read_toml
from muster.formats.text.yaml_text import BadText


def test_values_are_those_of_json() -> None:
    text = 'a = "x"\nb = [1, 2.5, true]\nc.d = {e = -3}\n[[f]]\ng = 0x1f\n'
    assert read_toml(text) == {"a": "x", "b": [1, 2.5, True], "c": {"d": {"e": -3}}, "f": [{"g": 31}]}


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01 02:00:00+02:00", "2026-01-01T02:00:00+02:00"),
        ("2026-01-01", "2026-01-01"),
        ("12:30:00", "12:30:00"),
    ],
)
def test_dates_and_times_stay_text(written: str, text: str) -> None:
    assert read_toml(f"now = {written}") == {"now": text}


def test_an_empty_text_is_an_empty_mapping() -> None:
    assert read_toml("# nothing\n") == {}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[policy", "not TOML: "),
        ("a = 1\na = 2\n", "not TOML: "),
        ("[policy]\ngain = nan\n", "policy.gain: nan is not a number that means anything here"),
        ("[policy]\ngain = -inf\n", "policy.gain: -inf is not a number"),
        ("[policy]\ngain = 1e999\n", "policy.gain: inf is not a number"),
        ("a = [1, 1000000000000000000]\n", "a[1]: the number is too large"),
        (f"a = {'9' * 5_000}\n", "it has a number that is too large"),
        (f"a = 0x{'f' * 20_000}\n", "a: the number is too large"),
        (f"{'.'.join('a' * 5_000)} = 1\n", "nested too deeply"),
        (f"a = {'[' * 5_000}{']' * 5_000}\n", "nested too deeply"),
        (f"{'.'.join('a' * 70)} = 1\n", "nested too deeply"),
    ],
)
def test_what_cannot_be_read_says_what_and_where(text: str, problem: str) -> None:
    with pytest.raises(BadText) as caught:
        read_toml(text)
    assert caught.value.problem.startswith(problem)
