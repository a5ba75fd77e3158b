"""What admission rules, profiles and prices do to a job is seen before it is submitted and on its page."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.dashboard.site import Site
from tests.browser.dashboard.test_submitting import at_job, button, write
from tests.browser.dashboard.visitor import Visitor

RULES = [
    {"name": "images come from us", "when": "has(job.image)", "deny": "use an image of registry.example"},
    {"name": "a limit for everybody", "when": "!has(job.max_duration)", "set": {"max_duration": "12h"}},
    {"name": "projects", "when": "!('project' in job.tags)", "warn": "say which project this is for"},
]
FILE = "name: governed\nteam: research\nresources: {gpus: 2}\nrun: sleep 1000\n"


@pytest.fixture
def governed(site: Site) -> Iterator[Site]:
    """A server with rules, a profile, and a price of its pool."""
    site.client.put_rules("admission", RULES)
    site.client.put_rules("profiles", {"small": {"resources": {"cpus": 1}, "max_duration": "1h"}})
    site.client.patch_pool("main", {"price": 2.5})
    yield site
    site.client.patch_pool("main", {"price": 1})
    site.client.put_rules("profiles", {})
    site.client.put_rules("admission", [])


def test_a_rule_that_refuses_a_job_says_so_while_one_writes_it(visitor: Visitor, governed: Site) -> None:
    visitor.open("/submit")
    write(visitor, f"{FILE}image: elsewhere.example/train:1\n")
    expect(visitor.seen("job-problem")).to_contain_text(
        "'images come from us' refuses the job: use an image of registry"
    )
    button(visitor).click()
    bar = visitor.page.get_by_role("region", name="Submit")
    expect(bar.get_by_role("alert")).to_contain_text("images come from us")
    assert [each.name for each in governed.client.jobs(state=["active"])] == []


def test_what_rules_set_and_warn_of_is_said_before_and_after_a_job_is_submitted(
    visitor: Visitor, governed: Site
) -> None:
    visitor.open("/submit")
    write(visitor, FILE)
    shown = visitor.seen("admission").locator(".notice")
    expect(shown).to_have_text(
        [
            "The admission rule projects warns: say which project this is for",
            "The admission rule a limit for everybody would set max_duration.",
        ]
    )
    button(visitor).click()
    job = at_job(visitor, "governed")
    expect(shown).to_have_text(
        [
            "The admission rule projects warns: say which project this is for",
            "The admission rule a limit for everybody set max_duration.",
        ]
    )
    assert governed.client.job(job).max_duration_s == 12 * 3600


def test_a_job_has_a_price_where_it_would_start_and_its_team_a_cost_over_time(visitor: Visitor, governed: Site) -> None:
    visitor.open("/submit")
    write(visitor, f"{FILE}max_duration: 2h\n")
    expect(visitor.seen("dry-run").locator("dl")).to_contain_text("GPU hours at most4Price at most10.00")
    button(visitor).click()
    governed.await_state(at_job(visitor, "governed"), "running")
    visitor.open("/teams")
    usage = visitor.page.locator(".usage")
    expect(usage.get_by_role("columnheader", name="Cost")).to_be_visible()


def test_a_profile_is_offered_and_stays_with_its_job(visitor: Visitor, governed: Site) -> None:
    visitor.open("/submit")
    write(visitor, f"{FILE}tags: {{project: x}}\n")
    profile = visitor.page.get_by_label("Profile", exact=True)
    profile.focus()
    expect(visitor.page.locator("option[value=small]")).to_have_count(1)
    profile.fill("small")
    expect(visitor.seen("dry-run").locator("dl")).to_contain_text("GPU hours at most2")
    button(visitor).click()
    job = at_job(visitor, "governed")
    expect(visitor.page.locator("dl.facts").first).to_contain_text("Profilesmall")
    assert governed.client.job(job).max_duration_s == 3600
