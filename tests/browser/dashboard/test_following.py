"""What happens on the cluster is seen without loading a page again, and a lost server is noticed and found again."""

import re

from playwright.sync_api import expect

from tests.browser.dashboard.site import Site
from tests.browser.dashboard.visitor import PATIENCE_MS, Visitor
from tests.crash.server import until

_TURN = """hidden => {
  Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
}"""
_CLOCK = "{ const real = Date.now; Date.now = () => real() + %d; }"
_END = "log => log.scrollHeight - log.scrollTop - log.clientHeight"
_IN_SIGHT = """(line, log) => {
  const [inner, outer] = [line.getBoundingClientRect(), document.querySelector(log).getBoundingClientRect()];
  return inner.top >= outer.top && inner.bottom <= outer.bottom;
}"""


def test_a_job_appears_starts_prints_and_is_cancelled_while_one_looks(visitor: Visitor, site: Site) -> None:
    visitor.open("/jobs")
    visitor.is_live()
    loads = visitor.asked.count("/jobs")
    job = site.submit("train", run="for i in 1 2 3 4 5; do echo step $i; sleep 0.2; done; sleep 1000")
    row = visitor.seen("job-row", job=job)
    expect(row.locator('[data-testid="job-state"]')).to_have_text("running")
    row.get_by_role("link").first.click()
    expect(visitor.page.locator("h1")).to_contain_text("train")
    expect(visitor.seen("log")).to_contain_text("step 5")
    assert visitor.page.title() == f"{job} · Muster"
    visitor.page.get_by_role("button", name="Cancel", exact=True).first.click()
    visitor.confirm("Cancel the job")
    expect(visitor.seen("job-state").first).to_have_text("cancelled")
    assert visitor.asked.count("/jobs") == loads


def test_why_a_job_waits_is_told_in_the_words_of_the_server_and_heals_when_it_starts(
    visitor: Visitor, site: Site
) -> None:
    holders = [site.submit(f"holder-{number}", gpus=4) for number in range(3)]
    for holder in holders:
        site.await_state(holder, "running")
    waiting = site.submit("waiter", gpus=4)
    visitor.open(f"/jobs/{waiting}")
    why = site.client.why(waiting)
    expect(visitor.seen("why")).to_contain_text(why.reasons[0].message)
    expect(visitor.seen("estimate").first).to_be_visible()
    site.client.cancel(holders[0])
    expect(visitor.seen("job-state").first).to_have_text("running")


def test_the_map_shows_where_a_job_runs_and_that_a_node_was_drained(visitor: Visitor, site: Site) -> None:
    visitor.open("/cluster")
    visitor.is_live()
    expect(visitor.seen("gpu-cell")).to_have_count(12)
    job = site.submit("mapped", gpus=2)
    expect(visitor.seen("gpu-cell", job=job)).to_have_count(2)
    node = visitor.seen("gpu-cell", job=job).first.get_attribute("data-node") or ""
    other = next(each.name for each in site.client.nodes() if each.name != node)
    try:
        site.client.drain(other, reason="a new fan")
        expect(visitor.page.locator("main")).to_contain_text(re.compile("drained", re.IGNORECASE))
    finally:
        site.client.undrain(other)


def test_a_node_is_drained_from_its_page(visitor: Visitor, site: Site) -> None:
    visitor.open("/nodes")
    row = visitor.seen("node-row", node="b1")
    row.get_by_role("button", name="b1").click()
    visitor.page.get_by_role("button", name="Drain").click()
    visitor.confirm("Drain")
    expect(row).to_contain_text("drained")
    assert site.client.node("b1").state == "drained"
    site.client.undrain("b1")
    expect(row).to_contain_text("ready")


def test_more_tabs_than_a_browser_has_connections_are_all_live_when_one_looks_at_them(
    visitor: Visitor, site: Site
) -> None:
    tabs = [visitor.page, *(visitor.page.context.new_page() for _ in range(7))]
    for tab in tabs:
        tab.goto(f"{site.url}/jobs")
        expect(tab.get_by_test_id("connection")).to_have_text("live")
        tab.evaluate(_TURN, True)
    job = site.submit("meanwhile")
    tabs[0].evaluate(_TURN, False)
    expect(tabs[0].get_by_test_id("connection")).to_have_text("live")
    expect(tabs[0].locator(f'[data-job="{job}"]')).to_be_visible()
    for tab in tabs[1:]:
        tab.close()


def test_a_lost_server_is_said_and_what_happened_meanwhile_is_shown_when_it_is_back(
    visitor: Visitor, site: Site
) -> None:
    visitor.open("/jobs")
    visitor.is_live()
    site.server.kill()
    expect(visitor.seen("connection")).to_have_text("connection lost")
    site.server.start()
    job = site.submit("after-the-loss")
    visitor.is_live()
    expect(visitor.seen("job-row", job=job)).to_be_visible(timeout=PATIENCE_MS)


def test_output_is_followed_until_one_scrolls_up_and_a_line_that_is_sought_comes_into_sight(
    visitor: Visitor, site: Site
) -> None:
    long = "a-long-line-" * 40
    job = site.submit(
        "talks", run=f"for i in $(seq 3000); do echo row $i; echo {long}; done; while sleep 0.2; do echo tick; done"
    )
    visitor.open(f"/jobs/{job}")
    log = visitor.seen("log")
    expect(log).to_contain_text("tick")
    visitor.page.wait_for_function(f"() => ({_END})(document.querySelector('[data-testid=log]')) < 1")
    assert log.locator(".line").count() < 200
    follow = visitor.page.get_by_role("button", name="Follow")
    log.hover()
    visitor.page.mouse.wheel(0, -600)
    expect(follow).to_be_visible()
    top = log.evaluate("log => log.scrollTop")
    with visitor.page.expect_response(lambda answer: "/logs" in answer.url):
        pass
    assert log.evaluate("log => log.scrollTop") == top
    visitor.page.get_by_placeholder("search the output").fill("row 2800")
    sought = log.locator(".line.current")
    expect(sought).to_contain_text("row 2800")
    assert sought.evaluate(_IN_SIGHT, "[data-testid=log]")
    follow.click()
    visitor.page.wait_for_function(f"() => ({_END})(document.querySelector('[data-testid=log]')) < 1")


def test_times_are_those_of_the_server_when_the_clock_of_the_browser_is_wrong(visitor: Visitor, site: Site) -> None:
    job = site.submit("timed")
    for wrong_ms in (3_600_000, -3_600_000):
        visitor.page.add_init_script(_CLOCK % wrong_ms)
        visitor.open("/jobs")
        expect(visitor.seen("job-row", job=job).locator("time").first).to_have_text(
            re.compile(r"^(now|in [1-3] s|([1-4] min )?([0-9]+ s )?ago)$")
        )
        visitor.page.add_init_script(_CLOCK % -wrong_ms)


def test_a_page_says_when_the_server_was_updated_meanwhile(visitor: Visitor, site: Site) -> None:
    visitor.open("/jobs")
    updated = visitor.page.get_by_text("Muster was updated while this page was open.")
    connection = visitor.seen("connection")

    def look_away_and_back() -> None:
        visitor.is_live()
        visitor.page.evaluate(_TURN, True)
        expect(connection).to_have_text("connecting")
        with visitor.page.expect_response(f"{site.url}/"):
            visitor.page.evaluate(_TURN, False)
        visitor.is_live()

    look_away_and_back()
    expect(updated).to_have_count(0)
    page = site.ask("/").text
    visitor.page.route(f"{site.url}/", lambda route: route.fulfill(body=page.replace("/assets/", "/assets/other-")))
    look_away_and_back()
    expect(updated).to_be_visible()
    visitor.page.unroute_all()
    visitor.page.get_by_role("button", name="Load it again").click()
    visitor.is_live()
    expect(updated).to_have_count(0)


def test_a_log_that_cannot_be_read_is_said_and_no_part_of_it_is_saved(visitor: Visitor, site: Site) -> None:
    job = site.submit("prints", run="echo words; sleep 1000")
    visitor.open(f"/jobs/{job}")
    expect(visitor.seen("log")).to_contain_text("words")
    output = visitor.page.get_by_role("region", name="Output")
    visitor.page.route("**/logs?*limit=1048576", lambda route: route.abort())
    output.get_by_role("button", name="Download").click()
    expect(output.get_by_role("alert")).to_contain_text("The server cannot be reached")
    visitor.page.unroute_all()
    with visitor.page.expect_download() as saved:
        output.get_by_role("button", name="Download").click()
    assert saved.value.path().read_text("utf-8") == "words\n"
    expect(output.get_by_role("alert")).to_have_count(0)


def test_what_of_a_long_log_is_not_shown_is_said(visitor: Visitor, site: Site) -> None:
    job = site.submit("talks-much", run="head -c 1000000 /dev/zero | tr '\\0' x; echo; echo after; sleep 1000")
    site.await_state(job, "running")
    until(lambda: b"after" in site.printed(job))
    visitor.open(f"/jobs/{job}")
    expect(visitor.seen("log")).to_contain_text("after")
    expect(visitor.page.get_by_role("region", name="Output")).to_contain_text("the first 600 kB are not shown")
