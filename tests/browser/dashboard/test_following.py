"""What happens on the cluster is seen without loading a page again, and a lost server is noticed and found again."""

import re

from playwright.sync_api import expect

from tests.browser.dashboard.site import Site
from tests.browser.dashboard.visitor import PATIENCE_MS, Visitor


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
