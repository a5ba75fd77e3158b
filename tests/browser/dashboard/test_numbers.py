"""What the pages say of the cluster, its teams, its past and its audit is what the API says."""

import contextlib
import json
import os
import re
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from tests.browser.dashboard.site import Site
from tests.browser.dashboard.visitor import Visitor
from tests.crash.server import until


def with_work(site: Site) -> list[str]:
    """Jobs of two teams that run, and one that waits."""
    running = [
        site.submit("ours", gpus=4),
        site.submit("ours-too", gpus=2),
        site.submit("theirs", gpus=1, team="vision"),
    ]
    for job in running:
        site.await_state(job, "running")
    return [*running, site.submit("waits", gpus=4, workers=3)]


def test_the_figures_of_the_overview_are_those_of_the_api(visitor: Visitor, site: Site) -> None:
    with_work(site)
    visitor.open("/")
    queue = site.read("/v1/queue")
    assert (queue["gpus"]["h100"]["used"], queue["running"], queue["waiting"]) == (7, 3, 1)
    figures = visitor.seen("utilisation")
    expect(figures).to_contain_text("58 %")
    expect(figures).to_contain_text("7 of 12")
    expect(figures).to_contain_text("3 running")
    expect(figures).to_contain_text("1 waiting")
    standard = visitor.page.get_by_role("row", name=re.compile("^standard"))
    expect(standard.locator("td").nth(1)).to_have_text(str(queue["tiers"]["standard"]["running"]))
    expect(standard.locator("td").nth(2)).to_have_text(str(queue["tiers"]["standard"]["waiting"]))
    site.cancel_all()
    expect(figures).to_contain_text("0 of 12")


def test_what_a_team_lends_is_what_others_use_of_its_guarantee(visitor: Visitor, site: Site) -> None:
    for job in [site.submit(f"theirs-{number}", gpus=4, team="vision") for number in range(3)]:
        site.await_state(job, "running")
    visitor.open("/teams")
    assert site.read("/v1/teams/research")["lent"] == {"*": 4}
    expect(visitor.seen("team-row", team="research").locator("td").nth(4)).to_have_text("4 GPUs")


def test_the_quotas_of_the_teams_are_those_of_the_api(visitor: Visitor, site: Site) -> None:
    with_work(site)
    visitor.open("/teams")
    teams: dict[str, Any] = {each["path"]: each for each in site.read("/v1/teams")["items"]}
    assert (teams["research"]["used"]["*"], teams["research"]["borrowed"]["*"]) == (6, 2)
    research = visitor.seen("team-row", team="research").locator("td")
    for place, words in enumerate(("6 h100", "4 GPUs", "2 GPUs"), start=1):
        expect(research.nth(place)).to_have_text(words)
    for path, team in teams.items():
        cells = visitor.seen("team-row", team=path).locator("td")
        lends = next(iter(team["lent"].values()), None)
        expect(cells.nth(4)).to_have_text("–" if lends is None else f"{lends} GPUs")
        expect(cells.nth(6)).to_have_text(str(team["running"]))
        expect(cells.nth(7)).to_have_text(str(team["waiting"]))


def test_each_cell_of_the_map_names_its_node_its_gpu_and_its_job(visitor: Visitor, site: Site) -> None:
    with_work(site)
    visitor.open("/cluster")
    expect(visitor.page.locator('[data-testid="gpu-cell"]:not([data-job=""])')).to_have_count(7)
    shown = visitor.seen("gpu-cell").evaluate_all(
        "cells => cells.map(cell => [cell.dataset.node, Number(cell.dataset.gpu), cell.dataset.job])"
    )
    nodes = site.read("/v1/nodes")["items"]
    held = {(node["name"], gpu): use["job"] for node in nodes for use in node["gpu_uses"] for gpu in use["gpus"]}
    every = [(node["name"], gpu) for node in nodes for gpu in range(node["gpus"])]
    assert sorted(shown) == sorted([*place, held.get(place, "")] for place in every)


def test_a_what_if_shows_its_progress_its_comparison_and_its_report_in_a_frame(visitor: Visitor, site: Site) -> None:
    for job in [site.submit(f"past-{number}", run="sleep 0.1", gpus=4) for number in range(3)]:
        site.await_state(job, "succeeded")
    visitor.open("/what-if")
    visitor.page.get_by_label("with 4 h100 GPUs").fill("1")
    visitor.page.get_by_role("button", name="Simulate").click()
    visitor.page.locator("progress").wait_for()
    expect(visitor.seen("comparison")).to_be_visible()
    run = site.read(f"/v1/what-if/{visitor.page.url.rsplit('run=', 1)[1]}")
    assert (run["state"], run["asked"]["nodes"]) == ("done", {"a1": 1})
    finished = visitor.seen("comparison").get_by_role("row", name=re.compile("^Jobs that finish")).locator("td")
    expect(finished.nth(1)).to_have_text(str(run["today"]["finished"]))
    expect(finished.nth(2)).to_have_text(str(run["changed"]["finished"]))
    visitor.page.get_by_text("The whole report").click()
    frame = visitor.page.locator("iframe.what-if-report")
    expect(frame).to_have_attribute("sandbox", "allow-scripts")
    report = frame.content_frame
    expect(report.locator("h1").first).to_be_visible()
    assert report.locator("body").evaluate("() => window.origin") == "null"


def simulators(server_pid: int) -> list[int]:
    """The processes in which a server simulates."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            parent = int(folder.joinpath("stat").read_text().rpartition(")")[2].split()[1])
            if parent == server_pid and b"muster.sim.what_if" in folder.joinpath("cmdline").read_bytes():
                found.append(int(folder.name))
    return found


def _has_begun(site: Site, run: str) -> bool:
    return bool(simulators(site.server.pid)) or site.read(f"/v1/what-if/{run}")["state"] == "done"


@contextlib.contextmanager
def a_simulation_that_stands_still(site: Site) -> Iterator[str]:
    """The id of a simulation that does not go on, so that all others wait for it."""
    for _ in range(20):
        run = str(site.post("/v1/what-if", {"origin": "history", "since_s": 86_400})["id"])
        until(partial(_has_begun, site, run))
        for pid in simulators(site.server.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        if simulators(site.server.pid):
            break
    try:
        yield run
    finally:
        site.delete(f"/v1/what-if/{run}")


def test_a_what_if_that_waits_is_cancelled(visitor: Visitor, site: Site) -> None:
    site.await_state(site.submit("past", run="true"), "succeeded")
    with a_simulation_that_stands_still(site) as before:
        visitor.open("/what-if")
        visitor.page.get_by_role("button", name="Simulate").click()
        answer = visitor.page.get_by_role("region", name="Answer")
        expect(answer).to_contain_text("waits for the simulations before it")
        answer.get_by_role("button", name="Cancel").click()
        expect(answer).to_contain_text("It was cancelled.")
        run = visitor.page.url.rsplit("run=", 1)[1]
        assert site.read(f"/v1/what-if/{run}")["state"] == "cancelled"
        assert site.read(f"/v1/what-if/{before}")["state"] == "running"


def test_the_audit_is_filtered_and_its_chain_is_checked(visitor: Visitor, site: Site) -> None:
    job, other = site.submit("audited"), site.submit("not-sought")
    for each in (job, other):
        site.client.cancel(each, reason="not needed")
    visitor.open("/audit")
    visitor.page.get_by_label("To what").fill(job)
    entries = site.read(f"/v1/audit?subject={job}")["items"]
    assert len(entries) >= 2
    expect(visitor.seen("audit-row")).to_have_count(len(entries))
    visitor.page.get_by_label("Did what").fill("jobs.cancel")
    expect(visitor.seen("audit-row")).to_have_count(1)
    expect(visitor.seen("audit-row")).to_contain_text("not needed")
    visitor.page.reload()
    expect(visitor.page.get_by_label("To what")).to_have_value(job)
    expect(visitor.seen("audit-row")).to_have_count(1)
    visitor.page.get_by_role("button", name="Check that nothing was changed").click()
    expect(visitor.seen("verdict")).to_contain_text("Nothing was changed")


def test_the_audit_is_asked_for_once_somebody_has_typed_and_not_for_each_letter(visitor: Visitor, site: Site) -> None:
    site.client.cancel(site.submit("typed"))
    sought: set[str] = set()
    visitor.page.on("request", lambda request: sought.update(re.findall(r"/v1/audit\?.*subject=(\w+)", request.url)))
    visitor.page.clock.install()
    visitor.open("/audit")
    expect(visitor.seen("audit-row").first).to_be_visible()
    visitor.page.clock.pause_at(time.time() + 60)
    visitor.page.get_by_label("To what").press_sequentially("nobody")
    expect(visitor.page).to_have_url(re.compile("subject=nobody$"))
    assert sought == set()
    visitor.page.clock.resume()
    expect(visitor.page.get_by_text("No entry is like that.")).to_be_visible()
    assert sought == {"nobody"}


def test_what_is_exported_of_the_audit_is_what_the_filters_leave(visitor: Visitor, site: Site) -> None:
    job, other = site.submit("exported"), site.submit("not-exported")
    for each in (job, other):
        site.client.cancel(each)
    visitor.open(f"/audit?subject={job}")
    expect(visitor.seen("audit-row").first).to_be_visible()
    with visitor.page.expect_download() as download:
        visitor.page.get_by_role("button", name="Export").click()
    assert download.value.suggested_filename == "muster-audit.jsonl"
    entries = [json.loads(line) for line in Path(download.value.path()).read_text("utf-8").splitlines()]
    assert entries == site.read(f"/v1/audit?subject={job}")["items"]
    assert [each["action"] for each in entries] == ["jobs.submit", "jobs.cancel"]


def test_a_what_if_begins_with_what_is_and_asks_for_no_fewer_nodes_than_none(visitor: Visitor) -> None:
    visitor.open("/what-if")
    visitor.page.get_by_text("Guaranteed GPUs").click()
    guaranteed = visitor.page.get_by_label("research")
    expect(guaranteed).to_have_attribute("placeholder", "4 GPUs")
    nodes = visitor.page.get_by_label("with 4 h100 GPUs")
    expect(nodes).to_have_attribute("placeholder", "3")
    nodes.fill("-1")
    visitor.page.get_by_role("button", name="Simulate").click()
    assert not nodes.evaluate("input => input.validity.valid")
    assert "run=" not in visitor.page.url


def test_what_was_measured_on_a_node_has_its_unit(visitor: Visitor) -> None:
    visitor.open("/nodes")
    visitor.seen("node-row", node="b1").get_by_role("button", name="b1").click()
    free = visitor.page.locator(".signals").get_by_role("row", name=re.compile("^disk free")).first
    expect(free.locator("td").nth(2)).to_have_text(re.compile(r"^[0-9.]+ [kMGT]B$"))


def test_the_map_of_a_job_says_nothing_of_nodes_that_it_does_not_show(visitor: Visitor, site: Site) -> None:
    job = site.submit("on-one-node", gpus=4)
    site.await_state(job, "running")
    visitor.open(f"/jobs/{job}")
    placement = visitor.page.get_by_role("region", name="Placement")
    expect(placement.get_by_test_id("gpu-cell")).to_have_count(4)
    expect(placement.get_by_role("region", name="rack")).to_be_visible()
    expect(placement).not_to_contain_text("in use")
    visitor.open("/cluster")
    (node,) = {worker.node for worker in site.client.job(job).workers}
    rack, share = ("rb", "100 %") if node == "b1" else ("ra", "50 %")
    expect(visitor.page.get_by_role("region", name=f"rack {rack}")).to_contain_text(f"{share} in use")
