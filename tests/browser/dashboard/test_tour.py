"""The tour of the dashboard, walked by somebody who has never seen it: what it says is so, and its commands work."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.dashboard.visitor import Visitor
from tests.e2e.conftest import MUSTER, Shell

TOUR = (Path(__file__).parents[3] / "docs" / "guides" / "tour.md").read_text("utf-8")
FUNCTION = f'muster() {{ {" ".join(map(repr, MUSTER))} "$@"; }}\n'
WORDS_A_MINUTE = 240
"""How fast people read, rather slowly."""


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Shell, str]]:
    """A terminal in which the first block of the tour was typed, and what it printed."""
    folder = tmp_path_factory.mktemp("tour")
    shell = Shell(home=folder / "home", folder=folder)
    (block,) = re.findall(r"^```sh\n(.*?)^```", TOUR, re.DOTALL | re.MULTILINE)
    typed = block.replace("muster up -d", "muster up -d --port 0").replace("muster open", "muster open --print")
    done = shell.call("bash", "-ec", FUNCTION + typed)
    assert done.returncode == 0, done.stderr
    yield shell, done.stdout
    shell.run("down", "--jobs")


@pytest.fixture(scope="module")
def tourist(newcomer: tuple[Shell, str], browser: Browser) -> Iterator[Visitor]:
    """Somebody who has opened the link."""
    (link,) = re.findall(r"http://\S+", newcomer[1].splitlines()[-1])
    url = json.loads((newcomer[0].home / "server.json").read_text("utf-8"))["url"]
    with Visitor(browser, url, width_px=1440) as visitor:
        visitor.enter(link)
        yield visitor
        assert visitor.errors == []


def test_the_tour_takes_two_minutes() -> None:
    prose = re.sub(r"^```.*?^```", "", TOUR, flags=re.DOTALL | re.MULTILINE)
    assert len(prose.split()) / WORDS_A_MINUTE <= 2


def test_the_overview_says_what_the_cluster_does_in_its_first_sentence(tourist: Visitor) -> None:
    tourist.open("/")
    expect(tourist.seen("summary")).to_have_text(re.compile(r"24 of 32 GPUs are busy; 1 job waits, starting in about"))
    for kind in ("by tier", "by pool", "by team"):
        tourist.page.get_by_label("Divided by").select_option(label=kind)
    starts = tourist.page.locator(".starts")
    for heading in ("Probably", "Nine in ten by", "Promised by"):
        expect(starts.get_by_role("columnheader", name=heading)).to_be_visible()
    expect(tourist.page.get_by_text("are promised a start")).to_be_visible()


def test_the_map_tells_leads_and_drains(tourist: Visitor) -> None:
    tourist.open("/cluster")
    paints = tourist.page.get_by_label("Colour by").locator("option").all_text_contents()
    assert paints == [f"colour by {each}" for each in ("job", "team", "use", "health")]
    held = tourist.page.locator('[data-testid="gpu-cell"][data-job="job-1"]')
    expect(held).to_have_count(24)
    held.first.hover()
    expect(tourist.page.get_by_role("tooltip")).to_contain_text("pretrain job-1")
    tourist.page.get_by_label("Highlight a job, team or node").fill("job-1")
    expect(tourist.page.locator(".cell.sought")).to_have_count(24)
    node = held.first.get_attribute("data-node")
    tourist.page.locator(f'button.title[data-node="{node}"]').click()
    panel = tourist.page.get_by_role("complementary")
    expect(panel).to_contain_text("ready")
    expect(panel.get_by_role("link", name="pretrain job-1")).to_be_visible()
    expect(panel.get_by_role("button", name="Drain")).to_be_visible()
    panel.get_by_role("button", name="Close").click()
    held.first.click()
    expect(tourist.page.locator("h1")).to_contain_text("job-1")


def test_the_page_of_a_job_and_the_terminal_say_why_it_waits_in_the_same_sentences(
    tourist: Visitor, newcomer: tuple[Shell, str]
) -> None:
    tourist.open("/jobs")
    tourist.seen("job-row", job="job-2").get_by_role("link").click()
    why = tourist.page.get_by_role("region", name="Why and when")
    expect(why).to_contain_text("job-1 has 24 GPUs for")
    expect(why).to_contain_text("It would start now with")
    expect(why).to_contain_text("It will probably start in")
    expect(why).to_contain_text(re.compile("No such estimate has been put to the test yet|such estimates?"))
    told = json.loads(newcomer[0].says("why", "job-2", "-o", "json"))
    printed = " ".join(newcomer[0].says("why", "job-2").split())
    shown = why.inner_text()
    for sentence in (told["headline"], *(each[part] for each in told["reasons"] for part in ("message", "would_help"))):
        assert sentence in shown
        assert sentence in printed


def test_the_page_of_a_running_job_has_what_the_tour_names(tourist: Visitor) -> None:
    tourist.open("/jobs/job-1")
    for name in ("Timeline", "Placement", "Output", "Terminal", "Job file"):
        expect(tourist.page.get_by_role("region", name=name)).to_be_visible()
    expect(tourist.page.get_by_label("Search the output")).to_be_visible()
    tourist.page.get_by_role("link", name="Clone").click()
    expect(tourist.page.locator("h1")).to_have_text("Submit a job like job-1")
    expect(tourist.seen("editor")).to_contain_text("name: pretrain")
    expect(tourist.seen("dry-run")).to_contain_text("It would wait")


def test_teams_nodes_and_audit_have_what_the_tour_names(tourist: Visitor) -> None:
    tourist.open("/teams")
    for heading in ("Guaranteed", "Used", "Borrowed", "Lent"):
        expect(tourist.page.get_by_role("columnheader", name=heading, exact=True).first).to_be_visible()
    tourist.open("/nodes?node=n1")
    expect(tourist.page.locator(".signals")).to_contain_text("disk free")
    tourist.open("/audit")
    tourist.page.get_by_role("button", name="Check that nothing was changed").click()
    expect(tourist.seen("verdict")).to_contain_text("Nothing was changed")


def test_a_what_if_compares_another_number_of_nodes_with_today(tourist: Visitor) -> None:
    tourist.open("/what-if")
    tourist.page.get_by_label("Which jobs").select_option(index=1)
    tourist.page.locator("details[open] .what-if-amounts input").first.fill("8")
    tourist.page.get_by_role("button", name="Simulate").click()
    expect(tourist.seen("comparison")).to_contain_text("Wait, mean")


def test_the_commands_that_the_tour_names_besides_work(newcomer: tuple[Shell, str]) -> None:
    assert "job-1" in newcomer[0].says("top", "--once")
