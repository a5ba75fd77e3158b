"""What axe finds on the pages, by day and at night: nothing serious. And what it does not look for."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.dashboard.site import Site
from tests.browser.dashboard.visitor import Visitor

AXE = Path(__file__).parents[3] / "web" / "node_modules" / "axe-core" / "axe.min.js"
PAGES = ("/", "/cluster", "/jobs", "/nodes", "/teams", "/submit", "/what-if", "/audit")
DIALOGS: dict[str, tuple[str, Callable[[Page], None]]] = {
    "keys": ("/", lambda page: page.keyboard.press("?")),
    "cancelling": ("/jobs/{job}", lambda page: page.get_by_role("button", name="Cancel").click()),
    "draining": ("/nodes?node=a1", lambda page: page.get_by_role("button", name="Drain").click()),
    "reserving": ("/nodes", lambda page: page.get_by_role("button", name="Reserve nodes").click()),
    "a node on the map": ("/cluster", lambda page: page.locator("button.title").first.click()),
}
"""What opens over a page, and how."""
SERIOUS = ("serious", "critical")


def findings(visitor: Visitor) -> list[str]:
    """What would keep somebody from using the page. The policy of the page is not weakened: `evaluate` is no script."""
    if not visitor.page.evaluate("() => 'axe' in window"):
        visitor.page.evaluate(AXE.read_text("utf-8"))
    found: list[dict[str, Any]] = visitor.page.evaluate("async () => (await axe.run()).violations")
    return [
        f"{each['id']}: {json.dumps([node['html'][:200] for node in each['nodes'][:3]])}"
        for each in found
        if each["impact"] in SERIOUS
    ]


def test_a_page_that_nobody_could_read_is_found(visitor: Visitor) -> None:
    visitor.page.evaluate("() => { document.querySelector('main').innerHTML = '<h1>x</h1><input>' }")
    assert [each for each in findings(visitor) if each.startswith("label:")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_finding(browser: Browser, site: Site, scheme: str) -> None:
    running, waiting = (
        site.submit("runs", gpus=4, run="echo words; sleep 1000"),
        site.submit("waits", gpus=4, workers=3),
    )
    site.client.drain("b1", reason="a new fan")
    site.await_state(running, "running")
    try:
        with Visitor(browser, site.url, scheme=scheme) as visitor:
            visitor.page.goto(f"{site.url}/sign-in")
            expect(visitor.page.locator("h1")).to_be_visible()
            found = {"/sign-in": findings(visitor)}
            visitor.enter(site.link())
            for place in (
                *PAGES,
                f"/jobs/{running}",
                f"/jobs/{waiting}",
                "/jobs/job-999999",
                f"/submit?from={running}",
            ):
                visitor.open(place)
                visitor.is_live()
                visitor.read_through()
                expect(visitor.page.locator("main").get_by_text("Loading…")).to_have_count(0)
                found[place] = findings(visitor)
                assert visitor.page.locator("main").count() == visitor.page.locator("nav").count() == 1
            visitor.page.keyboard.press("?")
            found["help"] = findings(visitor)
        assert {place: each for place, each in found.items() if each} == {}
    finally:
        site.client.undrain("b1")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_of_an_empty_cluster_and_no_dialog_has_a_serious_finding(
    browser: Browser, site: Site, scheme: str
) -> None:
    with Visitor(browser, site.url, scheme=scheme) as visitor:
        visitor.enter(site.link())
        found = {}
        for place in PAGES:
            visitor.open(place)
            visitor.is_live()
            visitor.read_through()
            expect(visitor.page.locator("main").get_by_text("Loading…")).to_have_count(0)
            found[place] = findings(visitor)
        job = site.submit("runs")
        site.await_state(job, "running")
        for name, (place, opened) in DIALOGS.items():
            visitor.open(place.format(job=job))
            opened(visitor.page)
            expect(visitor.page.get_by_role("dialog").or_(visitor.page.get_by_role("complementary"))).to_be_visible()
            found[name] = findings(visitor)
        assert {place: each for place, each in found.items() if each} == {}


def test_an_exact_time_in_the_readers_zone_is_behind_each_time(browser: Browser, site: Site) -> None:
    job = site.submit("timed")
    with Visitor(browser, site.url) as visitor:
        visitor.enter(site.link())
        visitor.open(f"/jobs/{job}")
        shown = visitor.page.locator("time").first
        exact = visitor.page.evaluate(
            "at => new Date(at).toLocaleString(undefined, {dateStyle: 'medium', timeStyle: 'long'})",
            shown.get_attribute("datetime"),
        )
        assert shown.get_attribute("title") == exact
