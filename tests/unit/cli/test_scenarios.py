"""Scenario files planned through the command as a user runs it, and what the documented rules demand."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from muster.cli.main import app

runner = CliRunner()

ALL = "[0, 1, 2, 3, 4, 5, 6, 7]"
LONG_AGO = "2025-12-31T20:00:00Z"
TEAMS_OF_EIGHT = "teams: {a: {guaranteed: {h100: 8}}, b: {guaranteed: {h100: 8}}}"


def node(names: str, more: str = "") -> str:
    return f'{{name: "{names}", gpus: 8, gpu_type: h100, cpus: 64, memory: 512GiB{more}}}'


def runs(job_id: str, job: str, *workers: str, started: str = LONG_AGO, saved: str | None = None) -> str:
    checkpointed = f"checkpointed: {saved}, " if saved else ""
    return f"{{id: {job_id}, started: {started}, {checkpointed}workers: [{', '.join(workers)}], job: {{{job}}}}}"


def on(at: str, gpus: str = ALL, *, rank: int = 0) -> str:
    return f"{{rank: {rank}, node: {at}, gpus: {gpus}}}"


def waits(job_id: str, job: str, submitted: str = "2025-12-31T23:00:00Z") -> str:
    return f"{{id: {job_id}, submitted: {submitted}, job: {{{job}}}}}"


def needs(gpus: float, limit: str = "6h") -> str:
    return f"resources: {{gpus: {gpus}}}, max_duration: {limit}"


def scenario(
    *nodes: str,
    running: tuple[str, ...] = (),
    waiting: tuple[str, ...] = (),
    more: str = "",
    levels: str = "[]",
    now: str = "2026-01-01T00:00:00Z",
) -> str:
    lines = [f"now: {now}", f"cluster: {{levels: {levels}, nodes: [{', '.join(nodes)}]}}", more]
    return "\n".join([*lines, f"running: [{', '.join(running)}]", f"waiting: [{', '.join(waiting)}]", ""])


def planned(text: str) -> dict[str, Any]:
    result = runner.invoke(app, ["plan", "-", "-o", "json"], input=text)
    assert (result.exit_code, result.stderr) == (0, "")
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def started(answer: dict[str, Any]) -> dict[str, list[str]]:
    return {start["job"]: [worker["node"] for worker in start["workers"]] for start in answer["starts"]}


def promised(answer: dict[str, Any]) -> dict[str, tuple[str, list[str]]]:
    return {promise["job"]: (promise["start"], promise["nodes"]) for promise in answer["holds"]}


def codes(answer: dict[str, Any], job: str) -> list[str]:
    return [reason["code"] for entry in answer["waiting"] if entry["job"] == job for reason in entry["reasons"]]


def rejected(answer: dict[str, Any]) -> dict[str, str]:
    return {entry["job"]: entry["code"] for entry in answer["rejected"]}


def test_the_answer_has_every_documented_key_even_when_there_is_nothing_to_say() -> None:
    answer = planned(scenario(node("n1")))
    for key in ("starts", "evictions", "resizes", "holds", "waiting", "rejected"):
        assert answer[key] == []


def test_fractional_workers_share_a_gpu_and_say_which_part_of_it() -> None:
    answer = planned(scenario(node("n1"), waiting=(waits("j", "workers: 2, resources: {gpus: 0.25}"),)))
    worker = {"role": "worker", "node": "n1", "gpus": [0], "share": 0.25}
    assert answer["starts"] == [{"job": "j", "workers": [{"rank": 0, **worker}, {"rank": 1, **worker}]}]


def test_a_waiting_job_has_a_position_all_its_reasons_and_an_estimate() -> None:
    pools = "pools: {main: {}, urgent: {tiers: [production]}, spot: {spot: true}}"
    nodes = (node("n1", ", pool: main"), node("n2", ", pool: urgent"), node("n3", ", pool: spot"))
    answer = planned(scenario(*nodes, more=pools, waiting=(waits("a", needs(8)), waits("b", needs(8)))))
    assert started(answer) == {"a": ["n1"]}
    (entry,) = answer["waiting"]
    assert (entry["job"], entry["position"]) == ("b", 1)
    assert sorted(codes(answer, "b")) == ["capacity", "pool", "spot"]
    assert all(reason["message"] and reason["would_help"] for reason in entry["reasons"])
    assert entry["estimate"]["p50"] <= entry["estimate"]["p90"] <= promised(answer)["b"][0]


def test_roles_are_one_gang_with_ranks_through_all_of_them() -> None:
    roles = "roles: {learner: {workers: 1, resources: {gpus: 8}}, actor: {workers: 2, resources: {gpus: 0.5}}}"
    (start,) = planned(scenario(node("n[1-2]"), waiting=(waits("j", roles),)))["starts"]
    assert [(worker["rank"], worker["role"]) for worker in start["workers"]] == [
        (0, "learner"),
        (1, "actor"),
        (2, "actor"),
    ]
    assert rejected(planned(scenario(node("n1"), waiting=(waits("j", roles),)))) == {"j": "never_fits"}


RACKS = (
    node("n[1-3]", ", rack: r1, block: b1"),
    node("n[4-5]", ", rack: r2, block: b1"),
    node("n[6-9]", ", rack: r3, block: b2"),
)
TREE = "[block, rack]"


@pytest.mark.parametrize(
    ("job", "nodes"),
    [
        ("workers: 2", ["n4", "n5"]),
        ("workers: 4", ["n6", "n7", "n8", "n9"]),
        ("workers: 5, topology: {within: block}", ["n1", "n2", "n3", "n4", "n5"]),
        ("workers: 5, topology: {prefer: rack, relax_after: 30m}", ["n1", "n2", "n3", "n4", "n5"]),
        ("workers: 9", [f"n{at}" for at in range(1, 10)]),
    ],
)
def test_a_gang_takes_the_smallest_domain_and_its_ranks_follow_the_tree(job: str, nodes: list[str]) -> None:
    answer = planned(scenario(*RACKS, levels=TREE, waiting=(waits("j", f"{job}, {needs(8)}"),)))
    assert started(answer) == {"j": nodes}


def test_within_is_never_given_up() -> None:
    job = f"workers: 5, topology: {{within: rack}}, {needs(8)}"
    answer = planned(scenario(*RACKS, levels=TREE, waiting=(waits("j", job, "2025-01-01T00:00:00Z"),)))
    assert rejected(answer) == {"j": "never_fits"}


def test_a_tensor_group_stays_inside_the_nvlink_level_or_the_node() -> None:
    job = "workers: 8, resources: {gpus: 1}, parallelism: {tensor: 8}"
    small = "{{name: {}, gpus: 4, gpu_type: h100, nvlink: {}}}"
    linked = scenario(small.format("n1", "x1"), small.format("n2", "x1"), levels="[nvlink]", waiting=(waits("j", job),))
    assert started(planned(linked)) == {"j": ["n1"] * 4 + ["n2"] * 4}
    apart = scenario(small.format("n1", "x1"), small.format("n2", "x2"), levels="[nvlink]", waiting=(waits("j", job),))
    assert rejected(planned(apart)) == {"j": "never_fits"}


def test_a_small_job_goes_where_it_leaves_the_least_behind() -> None:
    running = (runs("r", needs(6), on("n2", "[0, 1, 2, 3, 4, 5]")), runs("q", needs(4), on("n3", "[0, 1, 2, 3]")))
    answer = planned(scenario(node("n[1-3]"), running=running, waiting=(waits("j", needs(2)),)))
    assert answer["starts"][0]["workers"] == [{"rank": 0, "role": "worker", "node": "n2", "gpus": [6, 7]}]


def test_a_bad_gpu_is_passed_over_and_blamed() -> None:
    nodes = (node("n1", ", bad_gpus: [0, 1, 2, 3, 4, 5, 6]"), node("n2", ", state: drained"))
    answer = planned(scenario(*nodes, waiting=(waits("j", needs(1)), waits("k", needs(8)))))
    assert answer["starts"][0]["workers"] == [{"rank": 0, "role": "worker", "node": "n1", "gpus": [7]}]
    assert "node_health" in codes(answer, "k")


@pytest.mark.parametrize(
    ("first", "second", "more"),
    [
        ("tier: production, priority: 0", "tier: standard, priority: 100", ""),
        ("team: y, priority: 0", "team: x, priority: 100", "usage: {x: 100000}"),
        ("team: x", "team: y", "usage: {x: 100000, y: 60000}\nteams: {x: {weight: 2}, y: {}}"),
        ("team: y", "team: x/q", "usage: {x/p: 100000, y: 60000}\nteams: {x: {teams: {p: {}, q: {}}}, y: {}}"),
        ("team: x", "team: y", "usage: {x: 100000}\nteams: {x: {guaranteed: {h100: 8}}, y: {}}"),
        ("priority: 60", "priority: 50", ""),
    ],
)
def test_tier_guarantee_fair_share_and_priority_decide_in_this_order(first: str, second: str, more: str) -> None:
    waiting = (waits("a", f"{second}, {needs(8)}"), waits("b", f"{first}, {needs(8)}"))
    assert started(planned(scenario(node("n1"), more=more, waiting=waiting))) == {"b": ["n1"]}


@pytest.mark.parametrize(
    "limits",
    [
        "teams: {nlp: {limit: {h100: 8}, teams: {pre: {}}}}",
        'teams: {nlp: {limit: {"*": 8}, teams: {pre: {limit: {h100: 16}}}}}',
    ],
)
def test_the_limit_of_an_ancestor_holds_for_its_teams(limits: str) -> None:
    job = f"team: nlp/pre, {needs(8)}"
    answer = planned(scenario(node("n[1-2]"), more=limits, waiting=(waits("a", job), waits("b", job))))
    assert started(answer) == {"a": ["n1"]}
    assert codes(answer, "b") == ["quota_limit"]
    gang = f"team: nlp/pre, workers: 2, {needs(8)}"
    assert rejected(planned(scenario(node("n[1-2]"), more=limits, waiting=(waits("g", gang),)))) == {"g": "quota_limit"}


BUSY = runs("r", needs(8), on("n1"))  # until 02:00 by its limit
BIG = waits("big", f"workers: 2, {needs(8)}", "2025-12-31T21:00:00Z")


def test_backfill_runs_what_ends_by_the_promised_start_and_nothing_longer() -> None:
    waiting = (BIG, waits("fits", needs(8, "2h")), waits("long", needs(8, "121m")))
    answer = planned(scenario(node("n[1-2]"), running=(BUSY,), waiting=waiting))
    assert started(answer) == {"fits": ["n2"]}
    assert promised(answer)["big"] == ("2026-01-01T02:00:00Z", ["n1", "n2"])


def test_no_job_runs_in_front_when_backfill_is_off() -> None:
    waiting = (BIG, waits("fits", needs(8, "2h")))
    answer = planned(scenario(node("n[1-2]"), more="policy: {backfill: false}", running=(BUSY,), waiting=waiting))
    assert started(answer) == {}


def test_a_hint_is_not_trusted_for_promises_and_the_default_limit_is_seven_days() -> None:
    hinted = runs("r", "resources: {gpus: 8}, expected_duration: 5h", on("n1"))
    waiting = (BIG, waits("hopeful", f"{needs(8, '10d')}, expected_duration: 1h"))
    answer = planned(scenario(node("n[1-2]"), running=(hinted,), waiting=waiting))
    assert started(answer) == {}
    assert promised(answer)["big"][0] == "2026-01-07T20:00:00Z"


def test_a_promise_that_is_fed_back_is_kept_against_later_jobs_of_its_tier() -> None:
    first = planned(scenario(node("n[1-2]"), running=(BUSY,), waiting=(BIG,)))
    later = waits("late", f"team: other, priority: 100, {needs(8, '61m')}", "2026-01-01T00:30:00Z")
    again = scenario(
        node("n[1-2]"),
        now="2026-01-01T01:00:00Z",
        more=f"holds: {json.dumps(first['holds'])}",
        running=(BUSY,),
        waiting=(BIG, later),
    )
    assert started(planned(again)) == {}
    assert promised(planned(again))["big"] == promised(first)["big"]


def test_a_higher_tier_may_move_a_promise_and_the_job_is_told() -> None:
    first = planned(scenario(node("n[1-2]"), running=(BUSY,), waiting=(BIG,)))
    urgent = waits("urgent", f"tier: production, {needs(8, '10d')}")
    promises = f"holds: {json.dumps(first['holds'])}"
    answer = planned(scenario(node("n[1-2]"), more=promises, running=(BUSY,), waiting=(BIG, urgent)))
    assert started(answer) == {"urgent": ["n2"]}
    assert answer["holds"][0]["moved_because"]


SAVES = 'checkpoint: {path: "s3://x"}'
PREEMPTOR = waits("p", f"tier: production, {needs(8)}")


@pytest.mark.parametrize(
    ("job", "since", "saved", "lost_gpu_s"),
    [
        (SAVES, LONG_AGO, "2025-12-31T23:30:00Z", 8 * 1800),
        (SAVES, LONG_AGO, None, 8 * 4 * 3600),
        ("team: a", LONG_AGO, None, 8 * 4 * 3600),
        (SAVES, "2025-12-31T23:00:00Z", "2025-12-31T20:00:00Z", 8 * 3600),
    ],
)
def test_a_preemptor_is_promised_its_victims_gpus_and_the_loss_is_counted(
    job: str, since: str, saved: str | None, lost_gpu_s: int
) -> None:
    victim = runs("r", f"{job}, {needs(8, '12h')}", on("n1"), started=since, saved=saved)
    answer = planned(scenario(node("n1"), running=(victim,), waiting=(PREEMPTOR,)))
    assert answer["starts"] == []
    assert answer["evictions"] == [{"job": "r", "for": "p", "why": "tier", "lost_gpu_s": lost_gpu_s}]
    assert promised(answer)["p"][1] == ["n1"]


@pytest.mark.parametrize(
    ("job", "since"),
    [
        ("preemptible: false", LONG_AGO),
        ("tier: production", LONG_AGO),
        ("tier: exploratory", "2025-12-31T23:51:00Z"),
    ],
)
def test_a_protected_job_stays(job: str, since: str) -> None:
    running = (runs("r", f"{job}, {needs(8, '12h')}", on("n1"), started=since),)
    answer = planned(scenario(node("n1"), running=running, waiting=(PREEMPTOR,)))
    assert (answer["evictions"], answer["starts"]) == ([], [])


def test_the_newest_checkpoint_makes_the_victim_and_no_second_one_leaves() -> None:
    job = f"{SAVES}, {needs(8, '12h')}"
    running = (
        runs("old", job, on("n1"), saved="2025-12-31T22:00:00Z"),
        runs("new", job, on("n2"), saved="2025-12-31T23:50:00Z"),
    )
    answer = planned(scenario(node("n[1-2]"), running=running, waiting=(PREEMPTOR,)))
    assert [eviction["job"] for eviction in answer["evictions"]] == ["new"]


def test_a_team_takes_back_its_guarantee_and_not_more() -> None:
    job = f"team: b, {SAVES}, {needs(8, '12h')}"
    running = (
        runs("b1", job, on("n1"), saved="2025-12-31T23:30:00Z"),
        runs("b2", job, on("n2"), saved="2025-12-31T23:50:00Z"),
    )
    within = (waits("j", f"team: a, {needs(8)}"),)
    answer = planned(scenario(node("n[1-2]"), more=TEAMS_OF_EIGHT, running=running, waiting=within))
    assert answer["evictions"] == [{"job": "b2", "for": "j", "why": "reclaim", "lost_gpu_s": 4800}]
    beyond = (waits("j", f"team: a, workers: 2, {needs(8)}"),)
    answer = planned(scenario(node("n[1-2]"), more=TEAMS_OF_EIGHT, running=running, waiting=beyond))
    assert answer["evictions"] == []
    assert "quota_borrow" in codes(answer, "j")


ELASTIC = f'workers: "1..2", {needs(4)}'


def test_an_elastic_job_shrinks_for_a_gang_grows_on_idle_gpus_and_starts_as_large_as_it_can() -> None:
    large = runs("e", ELASTIC, on("n1", "[0, 1, 2, 3]"), on("n1", "[4, 5, 6, 7]", rank=1))
    answer = planned(scenario(node("n1"), running=(large,), waiting=(waits("j", f"team: z, {needs(4)}"),)))
    assert [(size["job"], size["from"], size["to"], size["for"]) for size in answer["resizes"]] == [("e", 2, 1, "j")]
    assert (answer["evictions"], list(promised(answer))) == ([], ["j"])

    small = runs("e", ELASTIC, on("n1", "[0, 1, 2, 3]"))
    grown = planned(scenario(node("n1"), running=(small,)))["resizes"]
    assert [(size["job"], size["from"], size["to"], size["for"]) for size in grown] == [("e", 1, 2, None)]

    fresh = planned(scenario(node("n1"), waiting=(waits("e", ELASTIC),)))
    assert started(fresh) == {"e": ["n1", "n1"]}


def test_a_dependency_and_a_hold_by_the_user_are_reasons_of_their_own() -> None:
    after = waits("b", f"depends_on: [{{job: a, when: succeeded}}], {needs(1)}")
    held = "{id: c, held: true, submitted: 2025-12-31T23:00:00Z, job: {resources: {gpus: 1}}}"
    answer = planned(scenario(node("n[1-2]"), waiting=(waits("a", needs(8)), after, held)))
    assert list(started(answer)) == ["a"]
    assert (codes(answer, "b"), codes(answer, "c")) == (["dependency"], ["held"])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (scenario(node("n[1-3]"), node("n3")), "cluster.nodes[1].name: node 'n3' is named here and by nodes[0]"),
        (scenario(node("n1", ", bad_gpus: [8]")), "cluster.nodes[0].bad_gpus[0]: there is no GPU 8"),
        (
            scenario(node("n1"), more="teams: {a: {guaranteed: {h100: 8}, teams: {b: {guaranteed: {h100: 16}}}}}"),
            "teams.a.teams: the teams below 'a' are guaranteed 16 h100 together",
        ),
        (
            scenario(node("n1"), running=(runs("a", needs(8), on("n1")), runs("b", needs(1), on("n1", "[3]")))),
            "running[1].workers: GPU 3 of 'n1' is taken by 'a' and 'b'",
        ),
        (
            scenario(node("n1"), waiting=(waits("j", "topology: {within: pod}"),)),
            "waiting[0].job.topology.within: 'pod' is not a level",
        ),
        (scenario(node("n1"), waiting=(waits("j", needs(1.5)),)), "waiting[0].job.resources.gpus: 1.5 GPUs"),
        (scenario(node("n1"), waiting=(waits("j", "priority: 101"),)), "waiting[0].job.priority"),
        (scenario(node("n1"), more="policy: {backfill: yes}"), "policy.backfill: must be true or false, not 'yes'"),
        (scenario(node("n1"), now="2026-01-01T00:00:00"), "now: '2026-01-01T00:00:00' does not say its time zone"),
        ("now: 2026-01-01T00:00:00Z\ncluster: " + "[" * 5000 + "]" * 5000, "levels deep"),
    ],
)
def test_a_wrong_file_is_refused_with_the_path_and_the_mistake(text: str, complaint: str) -> None:
    result = runner.invoke(app, ["plan", "-", "-o", "json"], input=text)
    assert (result.exit_code, result.stdout) == (2, "")
    assert complaint in result.stderr


def test_a_folder_and_a_file_that_is_not_text_are_refused(tmp_path: Path) -> None:
    blob = tmp_path / "blob.yaml"
    blob.write_bytes(bytes(range(256)))
    for path, complaint in ((tmp_path, "this is a folder"), (blob, "not UTF-8 text")):
        result = runner.invoke(app, ["plan", str(path)])
        assert result.exit_code == 2
        assert complaint in result.stderr
