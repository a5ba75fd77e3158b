import pytest

from muster.sim.report.figures.wording import (
    change_text,
    count_text,
    duration_text,
    gpus_text,
    list_text,
    percent_text,
    shortened,
)


def plain(text: str) -> str:
    return text.replace("\u00a0", " ").replace("\u2212", "-")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (0, "0 s"),
        (0.4, "0.4 s"),
        (59, "59 s"),
        (90, "1.5 min"),
        (3_600, "1 h"),
        (34_699, "9.6 h"),
        (2 * 86_400, "2 days"),
        (11_184_832, "129 days"),
        (-90, "-1.5 min"),
    ],
)
def test_a_length_of_time_has_a_unit_that_suits_it(seconds: float | None, text: str) -> None:
    assert plain(duration_text(seconds)) == text


@pytest.mark.parametrize(
    ("value", "base", "text"),
    [
        (35, 100, "-65 %"),
        (112, 100, "+12 %"),
        (100.4, 100, "+0.4 %"),
        (100.01, 100, "same"),
        (0, 0, "same"),
        (3, 0, ""),
        (0, 3, "-100 %"),
        (0.001, 100, "-99.9 %"),
        (2_500, 100, "25×"),
    ],
)
def test_a_change_is_said_in_per_cent_as_long_as_that_tells_something(value: float, base: float, text: str) -> None:
    assert plain(change_text(value, base)) == text


def test_small_shares_do_not_read_as_none() -> None:
    assert [plain(percent_text(each)) for each in (0, 0.0042, 0.931)] == ["0.0 %", "0.42 %", "93.1 %"]


def test_numbers_have_separators_and_their_noun_the_right_form() -> None:
    assert [plain(count_text(each, "job")) for each in (1, 46_070)] == ["1 job", "46,070 jobs"]
    assert [plain(gpus_text(each)) for each in (1, 0.25, 6_212)] == ["1 GPU", "0.25 GPUs", "6,212 GPUs"]


def test_words_are_joined_as_in_a_sentence() -> None:
    assert [list_text(each) for each in ([], ["a"], ["a", "b", "c"])] == ["", "a", "a, b and c"]


@pytest.mark.parametrize(("name", "text"), [("job-1", "job-1"), ("job-100", "job-100"), ("job-1234", "job…234")])
def test_a_long_name_keeps_both_its_ends(name: str, text: str) -> None:
    assert shortened(name, 7) == text
