"""The report of `muster simulate` as a browser shows it, without a network."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import POLICIES
from tests.browser.sight import DESK, DESK_AT_NIGHT, PHONE, Screen, Sight

READABLE = 4.5
"""The contrast that WCAG asks of text."""


@pytest.mark.parametrize("screen", [DESK, DESK_AT_NIGHT, PHONE], ids=["desk", "desk at night", "phone"])
def test_every_chart_is_drawn_and_every_text_can_be_read(browser: Browser, report: Path, screen: Screen) -> None:
    with Sight(browser, report, screen) as sight:
        marks = sight.marks()
        assert len(marks) >= 12
        assert {key: each for key, each in marks.items() if not 0 < each["expected"] == each["drawn"]} == {}
        assert sight.crowded() == []
        assert sight.cut_off() == []
        assert sight.pale(READABLE) == []
        assert sight.overflow_px() <= 0
        assert sight.complaints == []


@pytest.mark.parametrize("screen", [DESK, PHONE], ids=["desk", "phone"])
def test_a_button_shows_its_policy_and_no_other(browser: Browser, report: Path, screen: Screen) -> None:
    with Sight(browser, report, screen) as sight:
        for policy in POLICIES:
            sight.choose("timelines", policy)
            sight.choose("gantt", policy)
            for section in ("timelines", "gantt"):
                shown = sight.page.locator(f"#{section} .panel:visible")
                expect(shown).to_have_count(1)
                expect(shown).to_have_attribute("data-label", policy)
                expect(sight.page.locator(f'#{section} .tabs button[aria-pressed="true"]')).to_have_text(policy)
            assert all(each["drawn"] == each["expected"] > 0 for each in sight.marks().values())
            assert sight.crowded() == []
        assert sight.complaints == []


def test_the_tables_are_whole(browser: Browser, report: Path) -> None:
    with Sight(browser, report, DESK) as sight:
        sight.choose("comparison", "muster")
        tables = sight.page.locator("table:visible")
        assert tables.count() >= 5
        for place in range(tables.count()):
            rows = tables.nth(place).locator("tbody tr")
            headings = tables.nth(place).locator("thead th").count()
            assert rows.count() > 0
            assert all(rows.nth(row).locator("th, td").count() == headings for row in range(rows.count()))
        job = sight.page.locator("#comparison tbody th:visible").first
        assert "…" in job.inner_text()
        assert "-nightly-training-" in (job.get_attribute("title") or "")


@pytest.mark.parametrize(
    ("screen", "sections"),
    [(DESK, ["fairness", "comparison"]), (PHONE, ["fairness"])],
    ids=["desk", "phone"],
)
def test_small_tables_fit_where_they_are(browser: Browser, report: Path, screen: Screen, sections: list[str]) -> None:
    with Sight(browser, report, screen) as sight:
        for section in sections:
            hidden_px = "all => all.map(each => each.scrollWidth - each.clientWidth)"
            assert max(sight.page.locator(f"#{section} .scroll:visible").evaluate_all(hidden_px)) <= 0


def test_the_chart_keeps_its_room_when_the_legend_needs_several_lines(browser: Browser, report: Path) -> None:
    plot_px = "document.querySelector('#chart-gantt-2 > svg').getBoundingClientRect().height"
    with Sight(browser, report, DESK) as desk, Sight(browser, report, PHONE) as phone:
        assert phone.page.evaluate(plot_px) >= desk.page.evaluate(plot_px) - 20


def test_the_colours_follow_the_preference_while_the_page_is_open(browser: Browser, report: Path) -> None:
    text = "getComputedStyle(document.querySelector('.chart text.tick')).fill"
    with Sight(browser, report, DESK) as sight:
        by_day = sight.page.evaluate(text)
        sight.page.emulate_media(color_scheme="dark")
        sight.page.wait_for_function(f"before => {text} !== before", arg=by_day)
        assert sight.pale(READABLE) == []


def test_paper_gets_every_policy(browser: Browser, report: Path) -> None:
    with Sight(browser, report, DESK) as sight:
        sight.page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
        expect(sight.page.locator("#gantt .panel:visible")).to_have_count(len(POLICIES))
        assert len(sight.page.pdf()) > 0
        sight.page.evaluate("() => dispatchEvent(new Event('afterprint'))")
        expect(sight.page.locator("#gantt .panel:visible")).to_have_count(1)
        assert all(each["drawn"] == each["expected"] > 0 for each in sight.marks().values())
        assert sight.complaints == []


def test_a_chart_tells_about_points_hides_policies_and_shows_a_part(browser: Browser, report: Path) -> None:
    with Sight(browser, report, DESK) as sight:
        chart = sight.page.locator("#chart-completion-curve")
        drawing = chart.locator("> svg")
        drawing.scroll_into_view_if_needed()
        box = drawing.bounding_box()
        assert box is not None
        across, up = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        for step in range(20):
            sight.page.mouse.move(across, box["y"] + box["height"] * step / 20)
            if chart.locator(".tip").is_visible():
                break
        expect(chart.locator(".tip")).to_contain_text("% finished within")
        chart.locator(".legend button", has_text="fifo").click()
        assert sight.marks()["chart-completion-curve"]["drawn"] == len(POLICIES) - 1
        whole = chart.locator(".tick").all_inner_texts()
        sight.page.mouse.move(across - 100, up)
        sight.page.mouse.down()
        sight.page.mouse.move(across, up, steps=3)
        sight.page.mouse.up()
        assert chart.locator(".tick").all_inner_texts() != whole
        drawing.dblclick()
        assert chart.locator(".tick").all_inner_texts() == whole
        assert sight.complaints == []


@pytest.mark.parametrize("screen", [DESK, PHONE], ids=["desk", "phone"])
def test_every_axis_has_ticks_enough(browser: Browser, report: Path, screen: Screen) -> None:
    with Sight(browser, report, screen) as sight:
        few = sight.page.evaluate("""() => [...document.querySelectorAll('.chart > svg')].flatMap(drawing => {
          const texts = [...drawing.querySelectorAll('.tick')].map(each => each.getAttribute('text-anchor'));
          return ['middle', 'end'].filter(side => texts.filter(each => each === side).length < 3)
            .map(side => `${drawing.parentElement.id} ${side}`);
        })""")
        assert few == []
