"""Figures: what happens is counted, labels are bounded, and the dashboard speaks only of figures that exist."""

import asyncio
import json
import re
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families

from muster.live.publishing.metrics import OTHERS, Metrics, _crowd
from muster.live.watching.hang_reports import HangReports
from muster.live.watching.progress_watch import ProgressWatch
from muster.model.events import StragglerFound
from muster.model.ids import JobId, NodeName, TeamPath, TierName
from muster.model.limits import METRIC_TEAMS
from muster.model.telemetry import Straggler
from muster.views.job_counts import JobCounts
from tests.api.world import World, eventually, played, submitted
from tests.builders import NOW_MS
from tests.unit.core.stragglers.builders import a_report

DASHBOARD = Path(__file__).parents[2] / "deploy/grafana/muster.json"
_NAME = re.compile(r"\b(?:muster|process)_[a-z_]+")


async def _figures(client: httpx.AsyncClient) -> dict[str, float]:
    """Every sample by its name and labels, as `name{a=b}`."""
    text = (await client.get("/metrics")).text
    return {
        sample.name + "".join(f"{{{key}={value}}}" for key, value in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_what_happens_to_jobs_is_counted() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        first = await submitted(client, gpus=8, workers=2, checkpoint={"path": "/c"})
        await submitted(client, gpus=8, workers=4, tier="exploratory")

        async def has_begun() -> bool:
            world.control.nudge()
            return bool((await client.get(f"/v1/jobs/{first}")).json()["state"] == "running")

        await eventually(has_begun)
        figures = await _figures(client)
        assert figures["muster_jobs_running{team=nlp}{tier=standard}"] == 1
        assert figures["muster_jobs_waiting{team=nlp}{tier=exploratory}"] == 1
        assert figures["muster_gpus_used{type=h100}"] == 16
        assert figures["muster_gpus{type=h100}"] == 32
        assert figures["muster_submissions_total{tier=standard}"] == 1
        assert figures["muster_job_wait_seconds_count{tier=standard}"] == 1
        assert figures["muster_nodes{state=ready}"] == 4
        assert figures["muster_writer_up"] == 1
        assert figures["muster_cycle_seconds_count"] >= 1
        assert figures["muster_commit_seconds_count"] >= 1  # the round of the newest answer may not be over
        world.clock.advance(10_000)
        world.backend.lose_node(NodeName("n4"))
        world.control.nudge()

        async def is_counted() -> bool:
            world.control.nudge()
            return "muster_restarts_total{cause=node_failure}" in await _figures(client)

        await eventually(is_counted)
        assert (await _figures(client))["muster_nodes{state=down}"] == 1

    played(scenario)


def test_jobs_that_end_while_they_wait_are_counted_once() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        job = await submitted(client, held=True)
        await submitted(client, depends_on=[job])
        array = await submitted(client, held=True, array="0-2")
        for each in (job, array):
            assert (await client.post(f"/v1/jobs/{each}/cancel")).status_code == 200
            await client.post(f"/v1/jobs/{each}/cancel")

        async def are_counted() -> bool:
            return (await _figures(client)).get("muster_jobs_ended_total{state=cancelled}") == 5

        await eventually(are_counted)
        assert (await _figures(client))["muster_allocated_gpu_seconds_total"] == 0

    played(scenario)


def test_gpu_time_is_useful_when_it_need_not_be_spent_again() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        done = await submitted(client, gpus=2)

        async def has_begun() -> bool:
            world.control.nudge()
            return bool((await client.get(f"/v1/jobs/{done}")).json()["state"] == "running")

        await eventually(has_begun)
        world.clock.advance(100_000)
        world.backend.advance(world.backend.now_ms + 60_000)
        world.control.nudge()

        async def has_ended() -> bool:
            return "muster_jobs_ended_total{state=succeeded}" in await _figures(client)

        await eventually(has_ended)
        figures = await _figures(client)
        assert figures["muster_allocated_gpu_seconds_total"] == figures["muster_useful_gpu_seconds_total"] > 100
        failed = await submitted(client, gpus=1)
        world.clock.advance(100_000)
        await client.post(f"/v1/jobs/{failed}/cancel")
        world.control.nudge()

        async def is_cancelled() -> bool:
            world.control.nudge()
            return "muster_jobs_ended_total{state=cancelled}" in await _figures(client)

        await eventually(is_cancelled)
        assert (await _figures(client))["muster_useful_gpu_seconds_total"] == figures["muster_useful_gpu_seconds_total"]

    played(scenario)


def test_requests_are_counted_by_route_and_invented_addresses_are_no_labels() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        await client.get("/v1/jobs/job-1")
        await client.get("/v1/jobs/job-2")
        await asyncio.gather(*(client.get(f"/invented/{number}") for number in range(20)))
        await client.request("INVENTED", "/v1/jobs")
        figures = await _figures(client)
        assert figures["muster_http_requests_total{method=GET}{route=/v1/jobs/{job}}{status=404}"] == 2
        assert figures["muster_http_requests_total{method=(none)}{route=(none)}{status=404}"] == 20
        assert not [name for name in figures if "invented" in name or "INVENTED" in name]

    played(scenario)


def test_of_many_teams_the_largest_are_told_apart_and_the_rest_are_one() -> None:
    counts = JobCounts(version=0)
    for number in range(METRIC_TEAMS + 50):
        counts.waiting[TierName("standard"), TeamPath(f"t{number:03}")] = 1 + (number == 140)
    samples = {sample.labels["team"]: sample.value for sample in _crowd("n", "m", counts.waiting).samples}
    assert len(samples) == METRIC_TEAMS + 1
    assert samples["t140"] == 2
    assert samples[OTHERS] == 50
    assert sum(samples.values()) == METRIC_TEAMS + 51


def test_the_dashboard_shows_only_figures_that_exist_and_shows_them_all() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        world.backend.script(JobId("job-1"))
        known = set(_NAME.findall((await client.get("/metrics")).text))
        shown = {
            name
            for panel in json.loads(DASHBOARD.read_text())["panels"]
            for target in panel.get("targets", ())
            for name in _NAME.findall(target["expr"])
        }
        bases = {re.sub(r"_(total|bucket|created|sum|count)$", "", name) for name in known}
        assert {re.sub(r"_(total|bucket)$", "", name) for name in shown} <= bases
        assert {name for name in bases if name.startswith("muster")} <= {
            re.sub(r"_(total|bucket)$", "", name) for name in shown
        }

    played(scenario)


def test_a_fault_in_the_figures_does_not_stop_the_writer() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        metrics: Metrics = world.app.state.services.deps.metrics
        metrics._submissions = None  # type: ignore[assignment]
        await submitted(client)
        assert (await client.get("/healthz")).json()["status"] == "ok"

    played(scenario)


def test_step_times_and_verdicts_of_running_trainings_are_figures() -> None:
    async def scenario(world: World, client: httpx.AsyncClient) -> None:
        hangs = HangReports(stacks=lambda *_: {}, keep=lambda *_: "")
        hangs.close()
        watch = ProgressWatch(hangs=hangs)
        world.deps.metrics.watch_progress(watch)
        job = JobId(await submitted(client))
        await submitted(client)

        async def is_running() -> bool:
            world.control.nudge()
            return bool((await client.get(f"/v1/jobs/{job}")).json()["state"] == "running")

        await eventually(is_running)
        watch.take(a_report(0, job=job, world=1, step_us=1_500_000))
        watch.look(world.control.view, NOW_MS)
        straggler = Straggler(rank=0, worker=0, node=NodeName("n1"), slowdown_milli=1400, since_ms=NOW_MS)
        found = StragglerFound(at_ms=NOW_MS, job=job, attempt=1, straggler=straggler)
        await asyncio.wrap_future(world.control.ask(lambda engine, _: engine.observe(found)))
        figures = await _figures(client)
        steps = {name: value for name, value in figures.items() if name.startswith("muster_step_seconds")}
        assert steps == {f"muster_step_seconds{{job={job}}}": 1.5}
        assert (figures["muster_stragglers"], figures["muster_jobs_hanging"]) == (1, 0)

    played(scenario, who="operator")
