"""Nothing is cut off, broken or out of line, on a desk and on a phone."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Route, expect

from tests.browser.dashboard.site import Site
from tests.browser.dashboard.visitor import Visitor
from tests.crash.server import until

DESK_PX, PHONE_PX = 1440, 390
STEPS = 180

_NOTE_TEXTS = """
  window.__texts = [];
  const draw = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const half = this.measureText(text).width / 2;
    const at = this.getTransform().transformPoint({ x, y }).x;
    const left = this.textAlign === 'center' ? at - half : this.textAlign === 'right' ? at - 2 * half : at;
    window.__texts.push({ text, left, right: left + 2 * half, width: this.canvas.width });
    return draw.apply(this, arguments);
  };
"""

_CUT_OFF = """() => [...document.querySelectorAll('main *')]
  .filter(each => ['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(each).overflowX))
  .filter(each => each.checkVisibility() && !each.matches('.heard, .jobs, .log'))
  .filter(each => each.scrollWidth > each.clientWidth + 1)
  .map(each => each.className + ': ' + each.textContent.slice(0, 60))"""

_PLACEHOLDER_PX = """input => {
  const style = getComputedStyle(input), pen = document.createElement('canvas').getContext('2d');
  pen.font = style.font;
  const room = input.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  return [pen.measureText(input.placeholder).width, room];
}"""

_LINES = """editor => {
  const tops = name => [...editor.shadowRoot.querySelectorAll(name)].map(each => each.getBoundingClientRect().top);
  return [tops('.cm-lineNumbers .cm-gutterElement').slice(1), tops('.cm-line')];
}"""


@pytest.fixture(params=[DESK_PX, PHONE_PX])
def screen(request: pytest.FixtureRequest, browser: Browser, site: Site) -> Iterator[Visitor]:
    """Somebody at a desk, or with a phone."""
    with Visitor(browser, site.url, width_px=request.param) as visitor:
        visitor.page.add_init_script(_NOTE_TEXTS)
        visitor.enter(site.link())
        yield visitor
        assert visitor.errors == []


@pytest.fixture
def phone(browser: Browser, site: Site) -> Iterator[Visitor]:
    """Somebody with a phone."""
    with Visitor(browser, site.url, width_px=PHONE_PX) as visitor:
        visitor.enter(site.link())
        yield visitor
        assert visitor.errors == []


def longer(route: Route) -> None:
    """The history of the server as if it had been there for hours."""
    answer: Any = route.fetch().json()

    def stretched(found: Any) -> Any:
        if isinstance(found, dict):
            return {key: stretched(each) for key, each in found.items()}
        return [found[-1] if found else 0] * STEPS if isinstance(found, list) else found

    route.fulfill(body=json.dumps(stretched(answer)))


def lines_of(cell: Locator) -> int:
    """How many lines its text takes."""
    return int(
        cell.evaluate(
            """cell => {
              const range = document.createRange();
              range.selectNodeContents(cell);
              return new Set([...range.getClientRects()].map(box => Math.round(box.bottom / 8))).size;
            }"""
        )
    )


def test_every_label_of_a_chart_is_inside_it(screen: Visitor) -> None:
    screen.page.route("**/v1/history*", longer)
    screen.open("/")
    expect(screen.page.locator("figure canvas")).to_have_count(2)
    screen.page.wait_for_function("() => window.__texts.some(each => each.text.includes(':'))")
    texts = screen.page.evaluate("() => window.__texts")
    assert [each["text"] for each in texts if each["left"] < 0 or each["right"] > each["width"]] == []


def test_the_line_of_all_gpus_is_the_number_that_the_page_and_the_queue_say(screen: Visitor, site: Site) -> None:
    site.submit("stays-there", gpus=4, constraint="h100", workers=3)
    site.client.drain("b1", reason="its fan is loud")
    try:
        screen.page.route("**/v1/history*", longer)
        screen.open("/")
        total = site.read("/v1/queue")["gpus"]["h100"]["total"]
        assert total == 12
        expect(screen.seen("summary")).to_contain_text(f"of {total} GPUs")
        expect(screen.page.locator("figcaption").first).to_contain_text(f"there are {total}")
    finally:
        site.client.undrain("b1")


@pytest.mark.parametrize("path", ["/cluster", "/nodes", "/jobs"])
def test_what_a_field_is_for_can_be_read_in_it(screen: Visitor, path: str) -> None:
    screen.open(path)
    text_px, room_px = screen.page.locator("main input[type=search]").first.evaluate(_PLACEHOLDER_PX)
    assert 0 < text_px <= room_px


def test_the_examples_in_the_fields_of_a_job_are_whole(screen: Visitor) -> None:
    screen.open("/submit")
    for field in screen.page.locator(".job-form input[placeholder]").all():
        text_px, room_px = field.evaluate(_PLACEHOLDER_PX)
        assert 0 < text_px <= room_px, field.get_attribute("placeholder")


def test_the_gpus_of_a_node_stand_in_one_line_on_a_phone(phone: Visitor) -> None:
    phone.open("/nodes")
    cell = phone.seen("node-row", node="a1").locator("td").nth(3)
    expect(cell).to_have_text("0 of 4 h100")
    assert lines_of(cell) == 1


def test_names_and_times_of_jobs_are_whole_in_the_list(screen: Visitor, site: Site) -> None:
    jobs = [site.submit(name, team="research") for name in ("llama-long-context", "whisper-finetune")]
    for job in jobs:
        site.await_state(job, "running")
    screen.open("/jobs")
    for job in jobs:
        expect(screen.seen("job-row", job=job)).to_be_visible()
    cut = screen.page.locator(".jobs").evaluate(
        """list => [...list.querySelectorAll('tbody td, tbody td a > *')].filter(each => each.offsetParent !== null)
          .filter(each => each.scrollWidth > each.clientWidth && getComputedStyle(each).display !== 'inline'
            || each.getBoundingClientRect().right > list.getBoundingClientRect().right)
          .map(each => each.textContent)"""
    )
    assert cut == []


def test_the_search_in_the_output_stands_in_one_line(screen: Visitor, site: Site) -> None:
    job = site.submit("prints", run="echo one; sleep 1000")
    site.await_state(job, "running")
    screen.open(f"/jobs/{job}")
    expect(screen.page.locator(".log-search")).to_be_visible()
    tops = screen.page.locator(".log-search > button").evaluate_all("all => all.map(each => each.offsetTop)")
    assert len(tops) == 2
    assert len(set(tops)) == 1


def test_the_number_of_an_entry_is_whole_and_its_fields_have_names_on_a_phone(phone: Visitor, site: Site) -> None:
    for _ in range(5):
        site.client.cancel(site.submit("audited"))
    phone.open("/audit")
    cells = phone.seen("audit-row").first.locator("td")
    assert int(cells.first.inner_text()) >= 10
    assert lines_of(cells.first) == 1
    names = cells.evaluate_all("cells => cells.map(cell => getComputedStyle(cell, '::before').content)")
    assert names == ['"Number"', '"When"', '"Who"', '"Did"', '"To"', '"Details"']


def test_the_numbers_of_lines_stand_beside_their_lines(screen: Visitor) -> None:
    screen.open("/submit")
    editor = screen.seen("editor")
    editor.scroll_into_view_if_needed()
    screen.page.wait_for_function(
        f"""() => {{
          const [numbers, lines] = ({_LINES})(document.querySelector('[data-testid=editor]'));
          return lines.length > 5 && lines.every((top, place) => Math.abs(top - numbers[place]) < 2);
        }}"""
    )


def test_numbers_and_what_follows_them_are_apart(screen: Visitor, site: Site) -> None:
    job = site.submit("apart", gpus=4)
    screen.open("/jobs?text=apart")
    expect(screen.seen("job-row", job=job)).to_be_visible()
    apart_px = screen.seen("job-row", job=job).evaluate(
        """row => {
          const texts = [...row.cells].filter(cell => cell.offsetParent && cell.textContent.trim()).map(cell => {
            const range = document.createRange();
            range.selectNodeContents(cell);
            return range.getBoundingClientRect();
          });
          return texts.slice(1).map((box, place) => box.left - Math.min(texts[place].right, 1e6));
        }"""
    )
    assert min(apart_px) >= 8


def test_the_team_of_a_job_that_starts_next_is_not_broken_within_a_word(screen: Visitor, site: Site) -> None:
    for number in range(3):
        site.await_state(site.submit(f"holder-{number}", gpus=4, max_duration="12h"), "running")
    site.submit("llama-long-context", gpus=4, team="language/pretraining", max_duration="5d")
    screen.open("/")
    team = screen.page.locator(".starts tbody").get_by_text("language/pretraining", exact=True)
    expect(team).to_be_visible()
    assert lines_of(team) == 1


def test_the_arithmetic_of_all_groups_of_teams_stands_in_the_same_columns(visitor: Visitor, site: Site) -> None:
    for team in ("language/evaluation", "language/pretraining", "vision"):
        site.await_state(site.submit("counts", team=team), "running")
    visitor.open("/teams")
    tables = visitor.page.locator(".fair-share table")
    expect(tables).to_have_count(2)
    columns = tables.evaluate_all("all => all.map(each => [...each.rows[0].cells].map(cell => cell.offsetLeft))")
    assert columns[0] == columns[1]


def test_the_numbers_of_the_fair_share_stand_in_one_line_on_a_phone(phone: Visitor, site: Site) -> None:
    site.await_state(site.submit("counts", team="vision", gpus=4, workers=3), "running")
    phone.open("/teams")
    uses = phone.page.locator('.fair-share td[data-label="Uses now"]', has_text="12")
    expect(uses).to_have_count(1)
    assert lines_of(uses) == 1


def test_no_table_is_cut_off_on_a_phone(phone: Visitor, site: Site) -> None:
    site.await_state(site.submit("counts", team="language/pretraining"), "running")
    run = site.post("/v1/what-if", {"origin": "present"})["id"]
    until(lambda: site.read(f"/v1/what-if/{run}")["state"] == "done")
    site.client.patch_pool("main", {"price": 2.5})
    try:
        for place, shown in (
            ("/", "table"),
            ("/teams", ".usage table"),
            ("/nodes?node=a1", ".signals"),
            ("/audit", ".audit-entries"),
            (f"/what-if?run={run}", '[data-testid="comparison"]'),
        ):
            phone.open(place)
            expect(phone.page.locator(shown).first).to_be_visible()
            assert phone.page.evaluate(_CUT_OFF) == [], place
    finally:
        site.client.patch_pool("main", {"price": 1})


def test_what_was_measured_on_a_node_has_its_headings_on_a_phone(phone: Visitor) -> None:
    phone.open("/nodes?node=a1")
    headings = phone.page.locator(".signals th")
    expect(headings.first).to_be_visible()
    tops = (
        phone.page.locator(".signals tbody tr")
        .first.locator("td")
        .evaluate_all("all => all.map(each => each.offsetTop)")
    )
    assert len(set(tops)) == 1


def test_what_stands_side_by_side_begins_at_the_same_height(visitor: Visitor) -> None:
    visitor.open("/what-if")
    expect(visitor.page.locator(".what-if > *")).to_have_count(2)
    tops = visitor.page.locator(".what-if > *").evaluate_all("all => all.map(each => each.getBoundingClientRect().top)")
    assert tops[0] == tops[1]


def test_what_stands_below_a_heading_is_apart_from_it(phone: Visitor) -> None:
    phone.open("/cluster")
    apart_px = phone.page.locator(".legend").evaluate(
        """legend => legend.getBoundingClientRect().top
          - document.querySelector('main input[type=search]').getBoundingClientRect().bottom"""
    )
    assert apart_px >= 8


def test_the_fields_of_the_audit_and_what_exports_it_stand_in_one_line_at_a_desk(browser: Browser, site: Site) -> None:
    with Visitor(browser, site.url, width_px=DESK_PX) as desk:
        desk.enter(site.link())
        desk.open("/audit")
        ends = desk.page.locator(".audit-filters > *").evaluate_all(
            "all => all.map(each => Math.round(each.getBoundingClientRect().bottom))"
        )
        assert len(ends) == 6
        assert len(set(ends)) == 1
