"""A job is described in a form and in a text, the server says what would come of it, and it is submitted once."""

import re

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.dashboard.site import Site
from tests.browser.dashboard.visitor import Visitor

FILE = """name: written
team: research
resources: {gpus: 2}
max_duration: 1h
run: sleep 1000
"""


def editor(visitor: Visitor) -> Locator:
    return visitor.seen("editor").locator(".cm-content")


def write(visitor: Visitor, text: str) -> None:
    """Put a text where the job file is."""
    editor(visitor).click()
    visitor.page.keyboard.press("ControlOrMeta+a")
    visitor.page.keyboard.press("Delete")
    visitor.page.keyboard.insert_text(text)


def name(visitor: Visitor) -> Locator:
    return visitor.page.get_by_label("Name", exact=True)


def button(visitor: Visitor) -> Locator:
    return visitor.page.get_by_role("region", name="Submit").get_by_role("button")


def at_job(visitor: Visitor, heading: str) -> str:
    """The id of the job whose page is shown now."""
    expect(visitor.page.locator("h1")).to_contain_text(heading)
    return visitor.page.url.rsplit("/", 1)[1]


def test_the_form_and_the_editor_are_the_same_job(visitor: Visitor) -> None:
    visitor.open("/submit")
    write(visitor, f"# a comment\n{FILE}")
    expect(name(visitor)).to_have_value("written")
    expect(visitor.page.get_by_label("GPUs of each worker")).to_have_value("2")
    name(visitor).fill("renamed")
    visitor.page.get_by_label("GPUs of each worker").fill("4")
    expect(editor(visitor)).to_contain_text("name: renamed")
    expect(editor(visitor)).to_contain_text("resources: {gpus: 4}")
    expect(editor(visitor)).to_contain_text("# a comment")


def test_a_mistake_is_marked_in_its_line_and_told_in_words_until_it_is_repaired(visitor: Visitor) -> None:
    visitor.open("/submit")
    write(visitor, FILE.replace("gpus: 2", "gpsu: 2"))
    expect(visitor.seen("job-problem")).to_contain_text("Line 3")
    expect(visitor.seen("job-problem")).to_contain_text("gpsu")
    expect(visitor.seen("editor").locator(".wrong")).to_contain_text("gpsu")
    write(visitor, FILE)
    expect(visitor.seen("dry-run")).to_contain_text("It would start now")
    expect(visitor.seen("editor").locator(".wrong")).to_have_count(0)


def test_the_answer_of_the_dry_run_is_shown_and_submitting_leads_to_the_page_of_the_job(
    visitor: Visitor, site: Site
) -> None:
    holders = [site.submit(f"holder-{number}", gpus=4) for number in range(3)]
    for holder in holders:
        site.await_state(holder, "running")
    visitor.open("/submit")
    write(visitor, FILE)
    expect(visitor.seen("dry-run")).to_contain_text("It would wait")
    site.cancel_all()
    write(visitor, FILE.replace("max_duration: 1h", "max_duration: 2h"))
    expect(visitor.seen("dry-run")).to_contain_text("It would start now")
    expect(visitor.seen("dry-run").locator("dl")).to_contain_text("GPU hours at most4")
    button(visitor).click()
    job = at_job(visitor, "written")
    expect(visitor.seen("job-state").first).to_have_text("running")
    found = site.client.job(job)
    assert (found.gpus, found.team, found.max_duration_s) == (2, "research", 7200)


def test_pressing_submit_twice_submits_one_job(visitor: Visitor, site: Site) -> None:
    visitor.open("/submit")
    write(visitor, FILE.replace("written", "pressed-twice"))
    expect(visitor.seen("dry-run")).to_be_visible()
    button(visitor).evaluate("button => { button.click(); button.click(); }")
    at_job(visitor, "pressed-twice")
    assert len([each for each in site.client.jobs(state=["active"]) if each.name == "pressed-twice"]) == 1


def test_what_is_typed_fast_is_not_taken_back(visitor: Visitor) -> None:
    visitor.open("/submit")
    for number in range(10):
        write(visitor, FILE.replace("written", f"written-{number}"))
    expect(name(visitor)).to_have_value("written-9")
    expect(visitor.seen("dry-run")).to_be_visible()
    expect(editor(visitor)).to_contain_text("name: written-9")


def test_what_the_job_file_knows_is_offered_and_taken_with_the_keyboard_or_the_mouse(visitor: Visitor) -> None:
    with visitor.page.expect_response("**/v1/schema/job"):
        visitor.open("/submit")
    write(visitor, "name: offered\n")
    choices = visitor.seen("editor").get_by_role("option")
    visitor.page.keyboard.type("check")
    expect(choices.first).to_have_text("checkpoint")
    expect(editor(visitor)).to_have_attribute("aria-activedescendant", re.compile("."))
    visitor.page.keyboard.press("Enter")
    visitor.page.keyboard.type("{path: /x}\nresources:\n  gpu")
    expect(choices.first).to_have_text(re.compile("^gpu"))
    visitor.page.keyboard.press("Escape")
    expect(choices).to_have_count(0)
    expect(visitor.page.locator("h1")).to_have_text("Submit")
    visitor.page.keyboard.press("Control+Space")
    choices.get_by_text("gpu_type", exact=True).click()
    visitor.page.keyboard.type("h100")
    expect(editor(visitor)).to_contain_text("checkpoint: {path: /x}")
    expect(editor(visitor)).to_contain_text("gpu_type: h100")
    visitor.page.keyboard.press("ControlOrMeta+z")
    expect(editor(visitor)).not_to_contain_text("gpu_type: h100")


def test_lines_are_indented_and_erased_with_the_usual_keys(visitor: Visitor) -> None:
    visitor.open("/submit")
    write(visitor, "a:")
    for key in ("Enter", "Tab", "9", "Enter", "8", "Shift+Tab", "7", "Backspace", "ArrowUp", "Home", "Delete"):
        visitor.page.keyboard.press(key)
    assert visitor.seen("editor").locator(".cm-line").all_text_contents() == ["a:", "  ", "8"]


@pytest.mark.parametrize("keys", ["/", "?", "gj"])
def test_what_is_typed_into_the_editor_is_no_command(visitor: Visitor, keys: str) -> None:
    visitor.open("/submit")
    write(visitor, "# ")
    visitor.page.keyboard.type(keys)
    expect(editor(visitor)).to_contain_text(f"# {keys}")
    expect(visitor.page.locator("h1")).to_have_text("Submit")
    expect(visitor.page.get_by_role("dialog")).to_have_count(0)


def test_an_ended_job_is_submitted_again_as_it_was(visitor: Visitor, site: Site) -> None:
    first = site.submit("again", run="true", gpus=2)
    site.await_state(first, "succeeded")
    visitor.open(f"/jobs/{first}")
    expect(visitor.seen("job-state").first).to_have_text("succeeded")
    visitor.page.get_by_role("button", name="Resubmit").first.click()
    visitor.page.wait_for_url(lambda url: first not in url)
    second = at_job(visitor, "again")
    assert site.client.job(second).spec == site.client.job(first).spec
    expect(visitor.seen("job-state").first).to_have_text("succeeded")


def test_a_job_is_cloned_with_a_change(visitor: Visitor, site: Site) -> None:
    first = site.submit("original", gpus=2, tags={"project": "x"})
    visitor.open(f"/jobs/{first}")
    visitor.page.get_by_role("link", name="Clone").click()
    expect(visitor.page.locator("h1")).to_have_text(f"Submit a job like {first}")
    expect(name(visitor)).to_have_value("original")
    name(visitor).fill("changed")
    expect(visitor.seen("dry-run")).to_be_visible()
    button(visitor).click()
    second = at_job(visitor, "changed")
    assert {**site.client.job(first).spec, "name": "changed"} == site.client.job(second).spec


def test_a_job_like_one_that_is_not_there_is_refused_in_words(visitor: Visitor) -> None:
    visitor.open("/submit?from=job-999999")
    expect(visitor.page.locator("main").get_by_role("alert")).to_contain_text("job-999999")


def test_a_job_that_does_not_arrive_is_said_in_words_and_submitted_when_one_tries_again(
    visitor: Visitor, site: Site
) -> None:
    visitor.open("/submit")
    write(visitor, FILE.replace("written", "tried-again"))
    expect(visitor.seen("dry-run")).to_be_visible()
    visitor.page.route("**/v1/jobs", lambda route: route.abort())
    button(visitor).click()
    bar = visitor.page.get_by_role("region", name="Submit")
    expect(bar.get_by_role("alert")).to_contain_text("The server cannot be reached")
    visitor.page.unroute("**/v1/jobs")
    button(visitor).click()
    job = at_job(visitor, "tried-again")
    assert site.client.job(job).name == "tried-again"


def test_a_new_job_begins_with_a_team_of_the_user(browser: Browser, site: Site) -> None:
    with Visitor(browser, site.url) as visitor:
        visitor.paste(site.token("of-vision", "vision"))
        visitor.open("/submit")
        expect(visitor.page.get_by_label("Team", exact=True)).to_have_value("vision")
        expect(visitor.seen("dry-run")).to_contain_text("It would start now")


def test_a_job_is_submitted_from_a_page_that_came_without_tls(visitor: Visitor, site: Site) -> None:
    visitor.page.add_init_script("delete Crypto.prototype.randomUUID")
    visitor.open("/submit")
    write(visitor, FILE.replace("written", "without-tls"))
    expect(visitor.seen("dry-run")).to_be_visible()
    button(visitor).click()
    job = at_job(visitor, "without-tls")
    assert site.client.job(job).name == "without-tls"


def test_what_is_being_written_outlives_a_reload_and_the_end_of_the_session(browser: Browser, site: Site) -> None:
    secret = site.token("drafting", "research")
    with Visitor(browser, site.url) as visitor:
        visitor.paste(secret)
        visitor.open("/submit")
        write(visitor, FILE.replace("written", "drafted"))
        visitor.page.get_by_label("Hold it until it is released").check()
        visitor.open("/submit")
        expect(editor(visitor)).to_contain_text("name: drafted")
        expect(visitor.page.get_by_label("Hold it until it is released")).to_be_checked()
        visitor.page.context.clear_cookies()
        write(visitor, FILE.replace("written", "drafted-later"))
        expect(visitor.page.get_by_text("Your session has ended")).to_be_visible()
        visitor.page.get_by_label("Or paste a token").fill(secret)
        visitor.page.get_by_role("button", name="Sign in").click()
        expect(editor(visitor)).to_contain_text("name: drafted-later")
        expect(visitor.seen("dry-run")).to_be_visible()
        button(visitor).click()
        at_job(visitor, "drafted-later")
        visitor.open("/submit")
        expect(name(visitor)).to_have_value("train")


def test_what_one_user_was_writing_is_gone_after_signing_out_and_for_another(browser: Browser, site: Site) -> None:
    with Visitor(browser, site.url) as visitor:
        visitor.paste(site.token("writer", "research"))
        visitor.open("/submit")
        write(visitor, FILE)
        visitor.page.get_by_role("button", name="Sign out").click()
        expect(visitor.page.locator("h1")).to_have_text("Sign in to Muster")
        assert visitor.page.evaluate("() => sessionStorage.getItem('muster.draft')") is None
        visitor.paste(site.token("writer-again", "research"))
        visitor.open("/submit")
        write(visitor, FILE)
        visitor.page.context.clear_cookies()
        visitor.paste(site.token("reader", "vision"))
        expect(visitor.page.locator("header .who")).to_have_text("reader")
        visitor.page.wait_for_function("() => sessionStorage.getItem('muster.draft') === null")
