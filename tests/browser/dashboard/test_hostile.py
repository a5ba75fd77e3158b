"""What others wrote is shown and never runs, and the jobs of another team are in no answer that a page gets."""

import json
import re
import shlex
import sys
from http import HTTPStatus
from itertools import cycle
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from muster.formats.admission.rules import NAME_CHARS as RULE_NAME_CHARS
from muster.formats.scenarios.scenario_file import scenario_from_document
from muster.formats.text.document import parse_document
from muster.formats.text.ranges import is_name
from muster.model.errors import InvalidInput
from muster.worker.notices import METRIC_NAME_CHARS
from tests.browser.dashboard.payloads import HIT, IN_TERMINALS, payloads
from tests.browser.dashboard.site import Site
from tests.browser.dashboard.visitor import Visitor
from tests.crash.server import until

T = TypeVar("T")
PAGES = ("/", "/cluster", "/jobs", "/nodes", "/teams", "/submit", "/what-if", "/audit")
TAGS_EACH = 40
MEASURES_EACH = 30
"""As many names as one line of measures has room for."""
RULES_EACH = 110
"""A server has at most 200 rules."""
ENGINES_EACH = 60
"""A server has at most 64 engines."""
LAST = "the last line"
SIGNS = re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""What turns the direction of reading."""
HARMLESS_JOB_NAME = "constructor"
"""The only payload that is the name of a job: small letters."""
HARMLESS_IMAGES = (HARMLESS_JOB_NAME, "x" * 400)

MEASURING = """
import json, sys, time
from muster.train import Checkpointer
with Checkpointer() as checkpoints:
    names = json.loads(sys.argv[1])
    for step in range(1, 1000):
        if not checkpoints.step(step, {}, **{name: 1.0 for name in names}):
            break
        time.sleep(0.2)
"""

_HEAR = """(() => {
  const asked = window.fetch;
  window.fetch = async (...given) => {
    const answer = await asked(...given);
    (async () => {
      const reader = answer.clone().body.pipeThrough(new TextDecoderStream()).getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) window.__hear(part.value);
    })().catch(() => {});
    return answer;
  };
})()"""


def nothing_ran(visitor: Visitor) -> None:
    """No script of a payload, no dialog, no other host, nothing that the policy had to stop."""
    assert visitor.page.evaluate("() => window.__hit") is None
    assert (visitor.errors, visitor.foreign, visitor.violations()) == ([], [], [])


def batched(texts: list[T], size: int) -> list[list[T]]:
    """The texts in lists of at most this size."""
    return [texts[begin : begin + size] for begin in range(0, len(texts), size)]


def measure_names() -> list[str]:
    """The payloads as far as the name of a measure may hold them."""
    return sorted({each[:METRIC_NAME_CHARS] for each in payloads() if each.isprintable()})


def measuring_job(site: Site, names: list[str]) -> str:
    """A job whose measures have these names, once the server knows all of them."""
    job = site.submit(
        "measures", run=f"{sys.executable} -c {shlex.quote(MEASURING)} {shlex.quote(json.dumps(names))}", gpus=0.1
    )
    until(lambda: site.read(f"/v1/jobs/{job}/measures")["items"])
    assert set(names) <= set(site.read(f"/v1/jobs/{job}/measures")["items"][0]["values"])
    return job


def node_names() -> list[str]:
    """The payloads without the signs that the name of a node may not have."""
    return sorted({each for each in (re.sub(r"[\s\[\],/]", "", text) for text in payloads()) if is_name(each)})


@pytest.fixture
def wronged(site: Site, tmp_path: Path) -> list[str]:
    """Jobs that carry payloads wherever users may write: tags, variables, the script, its output, and reasons."""
    known = payloads()
    printed = "\n".join([*known, *IN_TERMINALS, LAST])
    (tmp_path / "printed").write_text(printed, "utf-8")
    jobs = [site.submit(HARMLESS_JOB_NAME, run=f"cat {shlex.quote(str(tmp_path / 'printed'))}; sleep 1000")]
    for some in batched(known, TAGS_EACH):
        fields = {"tags": {f"{each[:60]}{number}": each for number, each in enumerate(some)}}
        variables = {f"V{number}": each for number, each in enumerate(some)}
        jobs.append(site.submit("tagged", run=f"# {json.dumps(some)}\nsleep 1000", gpus=0.1, env=variables, **fields))
    measuring = [measuring_job(site, some) for some in batched(measure_names(), MEASURES_EACH)]
    waits = site.submit("waits", gpus=4, workers=3)
    for reason in known[::4]:
        site.client.hold(waits, reason=reason)
        site.client.release(waits, reason=reason)
    site.client.drain("b1", reason=known[0])
    return [*jobs, waits, *measuring]


def test_there_are_two_hundred_payloads_and_a_page_without_care_would_run_them(visitor: Visitor) -> None:
    assert len(set(payloads())) >= 200
    visitor.page.evaluate("text => { document.querySelector('h1').innerHTML = text }", f"<img src=x onerror={HIT}>")
    visitor.page.wait_for_function("() => window.__violations.length > 0")
    visitor.page.evaluate("() => { window.__violations = [] }")


def test_what_others_wrote_is_shown_and_never_runs(visitor: Visitor, site: Site, wronged: list[str]) -> None:
    try:
        for place in PAGES:
            visitor.open(place)
            visitor.is_live()
            nothing_ran(visitor)
        for job in wronged:
            visitor.open(f"/jobs/{job}")
            expect(visitor.seen("job-state").first).to_be_visible()
            visitor.read_through()
            expect(visitor.page.get_by_role("region", name="Job file").locator("pre")).to_be_attached()
            nothing_ran(visitor)
        visitor.open(f"/jobs/{wronged[0]}")
        expect(visitor.seen("log")).to_contain_text(LAST)
        visitor.seen("log").evaluate("log => log.scrollTo(0, 0)")
        expect(visitor.seen("log")).to_contain_text(payloads()[0])
        nothing_ran(visitor)
    finally:
        site.client.undrain("b1")


def test_what_is_written_into_an_address_never_runs(visitor: Visitor) -> None:
    for text in payloads()[::6]:
        hostile = quote(text, safe="")
        for place in (f"/jobs?text={hostile}&team={hostile}", f"/jobs/{hostile}"):
            visitor.page.goto(f"{visitor.url}{place}", wait_until="load")
            visitor.page.wait_for_function("() => document.readyState === 'complete'")
            nothing_ran(visitor)


def test_names_that_could_hold_markup_are_refused(site: Site) -> None:
    for text in payloads()[:20]:
        with pytest.raises(InvalidInput):
            site.client.create_token(name=text, bindings=[{"role": "member", "team": "research"}])
        with pytest.raises(InvalidInput):
            site.client.reserve(text, ["b1"], "2030-01-01T00:00:00Z", "2030-01-02T00:00:00Z")


def test_names_of_jobs_hold_no_markup(site: Site) -> None:
    for text in payloads():
        if text != HARMLESS_JOB_NAME:
            with pytest.raises(InvalidInput):
                site.submit(text)


def test_names_of_nodes_with_blanks_slashes_or_brackets_are_refused() -> None:
    refused = [each for each in payloads() if not is_name(each)]
    assert len(refused) > 150
    for text in refused:
        cluster = {"now": "2030-01-01T00:00:00Z", "cluster": {"nodes": [{"name": text, "gpus": 1}]}}
        with pytest.raises(InvalidInput, match=r"is not a name for a node|is not an index or a range"):
            scenario_from_document(parse_document(json.dumps(cluster), file="muster.json"))


def test_names_of_nodes_that_are_allowed_are_shown_and_never_run(browser: Browser, tmp_path: Path) -> None:
    names = node_names()
    assert len(names) >= 200
    nodes = ",\n".join(f"  {{name = {json.dumps(name)}, gpus = 1}}" for name in names)
    site = Site(tmp_path, f"[cluster]\nnodes = [\n{nodes}\n]\n[teams.research]\n")
    with site.server as server, Visitor(browser, site.url) as visitor:
        server.start()
        job = site.submit("on-three", workers=3)
        site.client.drain(names[0], reason="to be seen among the troubles")
        site.await_state(job, "running")
        assert {each["name"] for each in site.read("/v1/nodes?limit=1000")["items"]} == set(names)
        visitor.enter(site.link())
        for place in (*PAGES, f"/jobs/{job}"):
            visitor.open(place)
            visitor.is_live()
            nothing_ran(visitor)
        visitor.open("/nodes")
        expect(visitor.seen("node-row").first).to_be_visible()
        shown = visitor.seen("node-row").evaluate_all("rows => rows.map(row => row.cells[0].textContent)")
        assert len(shown) >= 200
        assert {each.removeprefix("▸").strip() for each in shown} <= set(names)
        nothing_ran(visitor)


def with_engines(names: list[str]) -> str:
    """A configuration with engines of these names, each with a node whose agent never comes."""
    engines = "\n".join(f'[[engines]]\nname = {json.dumps(name)}\nkind = "agents"' for name in names)
    there = [f'{{name = "n{place}", gpus = 1, engine = {json.dumps(name)}}}' for place, name in enumerate(names)]
    nodes = ", ".join(['{name = "here", gpus = 1}', *there])
    return f"[cluster]\nnodes = [{nodes}]\n[teams.research]\n{engines}\n"


@pytest.mark.parametrize("some", batched(node_names(), ENGINES_EACH), ids=["first", "second", "third", "last"])
def test_names_of_engines_are_shown_on_the_map_and_never_run(browser: Browser, tmp_path: Path, some: list[str]) -> None:
    site = Site(tmp_path, with_engines(some))
    with site.server as server, Visitor(browser, site.url) as visitor:
        server.start()
        job = site.submit("pinned", engine=some[0])
        visitor.enter(site.link())
        visitor.open(f"/jobs/{job}")
        expect(visitor.page.locator("dl.facts").first).to_contain_text(f"Engine{some[0]}")
        nothing_ran(visitor)
        visitor.open("/submit")
        expect(visitor.page.locator(f"option[value={json.dumps(some[0])}]")).to_have_count(1)
        nothing_ran(visitor)
        visitor.open("/cluster")
        titles = visitor.page.locator(".domain > .title > b")
        expect(titles).to_have_count(len(some) + 1)
        assert set(titles.all_text_contents()) == {*some, "local"}
        nothing_ran(visitor)


def rule_names() -> list[str]:
    """The payloads as far as the name of an admission rule may hold them."""
    named = (each.replace("/", "")[:RULE_NAME_CHARS].strip() for each in payloads())
    return sorted({each for each in named if each and each.isprintable()})


def test_names_and_messages_of_admission_rules_are_shown_and_never_run(visitor: Visitor, site: Site) -> None:
    names, told = rule_names(), {each.strip() for each in payloads()}
    assert len(names) >= 200
    rules = [
        {"name": name, "when": "'governed' in job.tags", "warn": text} for name, text in zip(names, cycle(sorted(told)))
    ]
    try:
        for some in batched(rules, RULES_EACH):
            site.client.put_rules("admission", some)
            job = site.submit("governed", tags={"governed": "yes"})
            for place in (f"/jobs/{job}", f"/submit?from={job}"):
                visitor.open(place)
                shown = visitor.seen("admission").locator(".notice")
                expect(shown).to_have_count(len(some))
                assert shown.locator("b").all_text_contents() == [each["name"] for each in some]
                nothing_ran(visitor)
        for text in sorted(told)[::40]:
            site.client.put_rules("admission", [{"name": "no", "deny": text}])
            visitor.open(f"/submit?from={job}")
            expect(visitor.seen("job-problem")).to_contain_text("the admission rule 'no' refuses the job")
            nothing_ran(visitor)
    finally:
        site.client.put_rules("admission", [])


def test_names_of_profiles_are_offered_and_never_run(visitor: Visitor, site: Site) -> None:
    names = node_names()
    assert len(names) >= 200
    try:
        site.client.put_rules("profiles", {name: {"tier": "exploratory"} for name in names})
        job = site.submit("profiled", profile=names[0])
        visitor.open(f"/jobs/{job}")
        expect(visitor.page.locator("dl.facts").first).to_contain_text(f"Profile{names[0]}")
        nothing_ran(visitor)
        visitor.open("/submit")
        visitor.page.get_by_label("Profile", exact=True).focus()
        offered = visitor.page.locator(f"option[value={json.dumps(names[0])}]")
        expect(offered).to_have_count(1)
        expect(offered.locator("xpath=../option")).to_have_count(len(names))
        nothing_ran(visitor)
    finally:
        site.client.put_rules("profiles", {})


def test_names_of_images_hold_no_markup(site: Site) -> None:
    for text in payloads():
        if text not in HARMLESS_IMAGES:
            with pytest.raises(InvalidInput):
                site.submit("boxed", image=text)


def test_the_jobs_of_another_team_are_in_no_answer_that_a_page_gets(browser: Browser, site: Site) -> None:
    heard: list[str] = []
    secret = site.token("their-colleague", "vision")
    with Visitor(browser, site.url) as visitor:
        visitor.page.expose_function("__hear", lambda text: heard.extend([text]))
        visitor.page.add_init_script(_HEAR)
        own = site.submit("our-own", team="research")
        visitor.paste(site.token("rita", "research"))
        theirs = site.submit(
            "their-merger", team="vision", tags={"project": "codename"}, run="echo their-words; sleep 1000"
        )
        site.await_state(theirs, "running")
        for place in PAGES:
            visitor.page.locator(f'header nav a[href="{place}"]').click()
            expect(visitor.page.locator(f'header nav a[href="{place}"]')).to_have_attribute("aria-current", "page")
        visitor.page.goto(f"{site.url}/jobs/{theirs}")
        expect(visitor.page.get_by_role("alert").first).to_be_visible()
        site.client.cancel(theirs)
        site.await_state(theirs, "cancelled")
        visitor.open(f"/jobs/{own}")
        site.client.cancel(own)
        expect(visitor.seen("job-state").first).to_have_text("cancelled")
        assert visitor.errors == []
    said = "".join(heard)
    assert own in said
    assert [
        word for word in ("their-merger", "codename", "their-words", "their-colleague", f'"{theirs}"') if word in said
    ] == []
    assert secret not in said


def test_a_member_of_another_team_sees_that_gpus_are_used_and_not_by_what(browser: Browser, site: Site) -> None:
    theirs = site.submit("their-merger", team="vision", gpus=4)
    own = site.submit("our-own", gpus=2)
    for job in (theirs, own):
        site.await_state(job, "running")
    secret = site.token("member-of-research", "research")
    uses = [use for node in site.ask("/v1/nodes", secret).json()["items"] for use in node["gpu_uses"]]
    known = sorted((len(use["gpus"]), use["job"] or "", use["name"] or "", use["team"] or "") for use in uses)
    assert known == [(2, own, "our-own", "research"), (4, "", "", "")]
    history = site.ask("/v1/history", secret)
    assert history.status_code == HTTPStatus.OK
    assert [word for word in (theirs, own, "their-merger", "our-own") if f'"{word}"' in history.text] == []
    assert site.ask("/v1/what-if", secret).status_code == HTTPStatus.FORBIDDEN
    with Visitor(browser, site.url) as visitor:
        visitor.paste(secret)
        visitor.open("/cluster")
        expect(visitor.seen("gpu-cell", job=own)).to_have_count(2)
        unknown = visitor.page.locator('[data-testid="gpu-cell"][data-job=""]:not(.free)')
        expect(unknown).to_have_count(4)
        unknown.first.hover()
        expect(visitor.page.get_by_role("tooltip")).to_contain_text("a job that you may not see")
        assert "their-merger" not in visitor.page.content()


def test_nothing_that_others_wrote_turns_the_direction_of_reading(visitor: Visitor, site: Site) -> None:
    run = "printf 'one \\342\\200\\256owt\\n'; sleep 1000  # \u202edone"
    job = site.submit("turned", run=run, tags={"note": "a\u2066b\u200fc"})
    site.client.drain("b1", reason="fan \u202edlo")
    try:
        visitor.open(f"/jobs/{job}")
        expect(visitor.seen("log")).to_contain_text("one \\u202eowt")
        expect(visitor.page.locator("dl.facts").first).to_contain_text("a\\u2066b\\u200fc")
        visitor.read_through()
        written = visitor.page.get_by_role("region", name="Job file").locator("pre")
        expect(written).to_contain_text("# \\u202edone")
        expect(written).to_contain_text("a\\u2066b\\u200fc")
        assert not SIGNS.search(visitor.page.content())
        for place in ("/", "/nodes"):
            visitor.open(place)
            expect(visitor.page.locator("main")).to_contain_text("fan \\u202edlo")
            assert not SIGNS.search(visitor.page.content())
    finally:
        site.client.undrain("b1")


def test_the_editor_writes_out_what_would_turn_the_direction_of_reading(visitor: Visitor, site: Site) -> None:
    job = site.submit("turned", run="sleep 1000  # \u202edone\u2068", tags={"note": "a\u202ab\u200fc"})
    visitor.open(f"/submit?from={job}")
    text = visitor.seen("editor").locator(".cm-content")
    expect(text).to_contain_text("# \\u202edone\\u2068")
    expect(text).to_contain_text("a\\u202ab\\u200fc")
    assert not SIGNS.search(text.text_content() or "")
    visitor.page.get_by_role("button", name="Submit", exact=True).click()
    expect(visitor.seen("job-state").first).to_be_visible()
    again = visitor.page.url.rsplit("/", 1)[1]
    assert site.read(f"/v1/jobs/{again}")["tags"] == {"note": "a\u202ab\u200fc"}
