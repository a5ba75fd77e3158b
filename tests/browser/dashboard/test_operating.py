"""Jobs make room for others, several are acted on at once, and a shell is opened beside one."""

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Route, expect

from tests.browser.dashboard.site import Site
from tests.browser.dashboard.visitor import Visitor
from tests.crash.server import until


def test_a_production_job_makes_a_standard_one_leave_and_both_pages_say_so(
    visitor: Visitor, browser: Browser, site: Site
) -> None:
    others = [site.submit(f"busy-{number}", gpus=4, tier="production") for number in range(2)]
    victim = site.submit("gives-way", gpus=4)
    for job in (*others, victim):
        site.await_state(job, "running")
    visitor.open(f"/jobs/{victim}")
    expect(visitor.seen("job-state").first).to_have_text("running")
    urgent = site.submit("urgent", gpus=4, tier="production")
    with Visitor(browser, site.url) as second:
        second.enter(site.link())
        second.open(f"/jobs/{urgent}")
        expect(second.seen("job-state").first).to_have_text("running")
    expect(visitor.seen("job-state").first).to_have_text("queued")
    expect(visitor.seen("why")).to_be_visible()
    told = visitor.page.get_by_role("region", name="What happened")
    expect(told).to_contain_text("a job of a higher tier needs its GPUs")
    expect(visitor.page.locator("dl.facts").first).to_contain_text("Preempted1")
    assert visitor.asked.count(f"/jobs/{victim}") == 1


PROMPT = re.compile(r"[$#]")


@pytest.mark.parametrize("kind", [{}, {"run": "bash -i", "interactive": {"idle_timeout": "10m"}}])
def test_a_terminal_is_opened_and_what_is_typed_there_runs(visitor: Visitor, site: Site, kind: dict[str, Any]) -> None:
    job = site.submit("with-a-shell", **kind)
    site.await_state(job, "running")
    visitor.open(f"/jobs/{job}")
    region = visitor.page.get_by_role("region", name="Terminal")
    region.get_by_role("button", name="Open").click()
    screen = visitor.seen("terminal").locator(".xterm-rows")
    expect(screen).to_contain_text(PROMPT)
    visitor.page.keyboard.type("echo answer-$((6*7))\n")
    expect(screen).to_contain_text("answer-42")
    region.get_by_role("button", name="Close").click()
    expect(visitor.seen("terminal")).to_have_count(0)
    expect(visitor.seen("job-state").first).to_have_text("running")


def test_a_terminal_that_is_opened_later_shows_what_was_printed_before(visitor: Visitor, site: Site) -> None:
    run = "printf 'asks \\033[6n and says-this-first\\n'; exec bash -i"
    job = site.submit("talks-early", run=run, interactive={"idle_timeout": "10m"})
    site.await_state(job, "running")
    until(lambda: b"says-this-first" in site.printed(job))
    for _ in range(2):
        visitor.open(f"/jobs/{job}")
        visitor.page.get_by_role("region", name="Terminal").get_by_role("button", name="Open").click()
        screen = visitor.seen("terminal").locator(".xterm-rows")
        expect(screen).to_contain_text("says-this-first")
        expect(screen).to_contain_text(PROMPT)
    visitor.page.keyboard.type("echo typed-$((6*7))\n")
    expect(screen).to_contain_text("typed-42")
    expect(screen).not_to_contain_text("1R")


def chosen(visitor: Visitor) -> Locator:
    return visitor.page.locator('[data-testid="job-row"] input:checked')


def rows(visitor: Visitor, count: int) -> list[str]:
    """The jobs in the list, from the top."""
    found = visitor.seen("job-row")
    expect(found).to_have_count(count)
    return [each.get_attribute("data-job") or "" for each in found.all()]


def test_j_k_and_x_choose_jobs_that_are_then_cancelled_together(visitor: Visitor, site: Site) -> None:
    jobs = [site.submit(f"one-of-many-{number}") for number in range(4)]
    for job in jobs:
        site.await_state(job, "running")
    visitor.open("/jobs?text=one-of-many")
    first, second, third, fourth = rows(visitor, 4)
    for key in "jjjkxkx":
        visitor.page.keyboard.press(key)
    expect(chosen(visitor)).to_have_count(2)
    expect(visitor.seen("job-row", job=first)).to_be_focused()
    visitor.page.get_by_role("button", name="Cancel 2").click()
    expect(visitor.page.get_by_role("dialog")).to_contain_text(first)
    visitor.page.get_by_role("button", name="Leave it").click()
    assert site.client.job(first).state == "running"
    visitor.page.get_by_role("button", name="Cancel 2").click()
    visitor.confirm("Cancel the jobs")
    expect(visitor.page.get_by_text("2 cancelled", exact=True)).to_be_visible()
    for job in (first, second):
        site.await_state(job, "cancelled")
    assert {site.client.job(job).state for job in (third, fourth)} == {"running"}


def test_several_jobs_are_held_and_released_together(visitor: Visitor, site: Site) -> None:
    site.submit("all-of-it", gpus=4, workers=3)
    jobs = [site.submit(f"waits-{number}", gpus=4) for number in range(3)]
    visitor.open("/jobs?text=waits-")
    assert sorted(rows(visitor, 3)) == sorted(jobs)
    for verb, done, state in (("Hold", "held", "held"), ("Release", "released", "queued")):
        visitor.page.get_by_label("Choose all that are shown").check()
        visitor.page.get_by_role("button", name=f"{verb} 3").click()
        expect(visitor.page.get_by_text(f"3 {done}", exact=True)).to_be_visible()
        for job in jobs:
            expect(visitor.seen("job-row", job=job).locator('[data-testid="job-state"]')).to_have_text(state)
        assert {site.client.job(job).state for job in jobs} == {state}
        expect(chosen(visitor)).to_have_count(0)


def test_enter_opens_the_job_that_j_went_to(visitor: Visitor, site: Site) -> None:
    job = site.submit("opened-by-a-key")
    visitor.open("/jobs?text=opened-by-a-key")
    rows(visitor, 1)
    visitor.page.keyboard.press("j")
    expect(visitor.seen("job-row", job=job)).to_be_focused()
    visitor.page.keyboard.press("Enter")
    expect(visitor.page.locator("h1")).to_contain_text(job)


def test_a_job_that_cannot_be_shown_has_a_page_that_says_so(visitor: Visitor) -> None:
    visitor.open("/jobs/job-999999")
    expect(visitor.page.locator("h1")).to_have_text("job-999999")
    expect(visitor.page.locator("main").get_by_role("alert")).to_contain_text("job-999999")


def test_nodes_are_reserved_and_the_reservation_is_removed(visitor: Visitor, site: Site) -> None:
    visitor.open("/nodes")
    visitor.page.get_by_role("button", name="Reserve nodes").click()
    dialog = visitor.page.get_by_role("dialog")
    fields = {"Name": "firmware", "Nodes": "a[1-2]", "From": "1h", "To": "soon", "Because": "new firmware"}
    for label, text in fields.items():
        dialog.get_by_label(label, exact=True).fill(text)
    dialog.get_by_role("button", name="Reserve", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("soon")
    assert site.read("/v1/reservations")["items"] == []
    dialog.get_by_label("To", exact=True).fill("2h")
    visitor.confirm("Reserve")
    row = visitor.page.get_by_role("row", name=re.compile("^firmware"))
    expect(row).to_contain_text("a1, a2")
    expect(row).to_contain_text("new firmware")
    (made,) = site.read("/v1/reservations")["items"]
    assert (made["name"], made["nodes"], made["because"]) == ("firmware", ["a1", "a2"], "new firmware")
    row.get_by_role("button", name="Remove").click()
    visitor.confirm("Remove")
    expect(visitor.page.get_by_text("No nodes are set aside.")).to_be_visible()
    assert site.read("/v1/reservations")["items"] == []


def test_the_list_shows_the_newest_jobs_before_the_rest_is_there(visitor: Visitor, site: Site) -> None:
    oldest, *newest = [site.submit(f"in-order-{number}") for number in range(3)]
    asked: list[Route] = []

    def answer(route: Route) -> None:
        asked.append(route)
        if len(asked) == 1:
            route.continue_(url=re.sub(r"limit=\d+", "limit=2", route.request.url))

    visitor.page.route(re.compile(r"/v1/jobs\?"), answer)
    visitor.open("/jobs")
    assert rows(visitor, 2) == [*reversed(newest)]
    expect(visitor.page.get_by_text("2 jobs so far, loading the rest…")).to_be_visible()
    # What is held goes on when nobody holds it.
    visitor.page.unroute_all()
    assert rows(visitor, 3) == [*reversed(newest), oldest]
    expect(visitor.page.get_by_text("3 jobs", exact=True)).to_be_visible()


def test_a_shell_that_has_ended_says_so_where_one_sees_it(visitor: Visitor, site: Site) -> None:
    job = site.submit("with-a-shell")
    site.await_state(job, "running")
    visitor.open(f"/jobs/{job}")
    terminal = visitor.page.get_by_role("region", name="Terminal")
    terminal.get_by_role("button", name="Open").click()
    expect(terminal.locator(".xterm-rows")).to_contain_text(PROMPT)
    visitor.page.keyboard.type("exit\n")
    expect(terminal.get_by_role("status")).to_contain_text("has ended")
    expect(terminal.get_by_role("status")).to_be_in_viewport()


def test_the_choice_of_columns_is_closed_with_escape(visitor: Visitor) -> None:
    visitor.open("/jobs")
    visitor.page.get_by_text("Columns", exact=True).click()
    box = visitor.page.get_by_label("Priority")
    box.check()
    visitor.page.keyboard.press("Escape")
    expect(box).to_be_hidden()


def test_what_was_asked_about_a_node_stays_asked_when_somebody_else_was_faster(visitor: Visitor, site: Site) -> None:
    visitor.open("/nodes?node=b1")
    visitor.page.get_by_role("button", name="Drain").click()
    dialog = visitor.page.get_by_role("dialog", name="Drain b1?")
    expect(dialog).to_contain_text("No new job starts here.")
    site.client.drain("b1", reason="a loud fan")
    try:
        expect(dialog).to_contain_text("Meanwhile it is drained: a loud fan")
        visitor.confirm("Drain")
        node = site.client.node("b1")
        assert (node.state, node.because) == ("drained", "a loud fan")
    finally:
        site.client.undrain("b1")


def test_filters_are_in_the_address_and_one_goes_back_and_forward_through_them(visitor: Visitor, site: Site) -> None:
    jobs = [site.submit(f"try-{number}") for number in (38, 39)]
    visitor.open("/jobs?text=39")
    assert rows(visitor, 1) == jobs[1:]
    search = visitor.page.locator("main input[type=search]")
    expect(search).to_have_value("39")
    search.fill("try")
    state = visitor.page.locator("main select[aria-label=State]")
    state.select_option("running")
    state.select_option("held")
    visitor.page.go_back()
    expect(state).to_have_value("running")
    visitor.page.go_back()
    expect(state).to_have_value("active")
    expect(search).to_have_value("try")
    visitor.page.go_forward()
    expect(state).to_have_value("running")
    visitor.page.reload()
    expect(state).to_have_value("running")
    expect(search).to_have_value("try")


def test_a_job_that_runs_and_is_held_says_so_in_lists_and_on_its_page(visitor: Visitor, site: Site) -> None:
    running = site.submit("goes-on")
    site.await_state(running, "running")
    waiting = site.submit("waits", gpus=4, workers=3)
    visitor.open("/jobs")
    for job in (running, waiting):
        visitor.page.get_by_label(f"Choose {job}").check()
    visitor.page.get_by_role("button", name=re.compile("^Hold")).click()
    said = "2 held; 1 of them goes on running, and will not start again until released"
    expect(visitor.page.get_by_text(said, exact=True)).to_be_visible()
    expect(visitor.seen("job-row", job=running).get_by_test_id("job-state")).to_have_text("running, held")
    visitor.open(f"/jobs/{running}")
    expect(visitor.seen("held")).to_have_text("running, held: it will not start again until released.")
