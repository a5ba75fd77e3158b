"""What the screen shows is made from answers alone."""

import pytest

from muster.cli.top.gpu_map import LETTERS, Paint, gpu_map, legend, letter_style, letters, painted
from muster.cli.top.utilisation import headline, pool_lines, tier_line
from tests.unit.cli.top.glances import a_glance, a_job, a_node, a_running_job, busy, on


def drawn(glance: object, paint: Paint = Paint.JOB, width: int = 80, rows: int | None = None) -> list[str]:
    known = painted(glance, paint, {})  # type: ignore[arg-type]
    lines = gpu_map(glance, known, paint=paint, width=width, rows=rows, plain=True)  # type: ignore[arg-type]
    return [line.plain for line in lines]


def test_a_letter_stays_with_its_job_when_others_come_and_go() -> None:
    first = letters(["a", "b", "c"], {})
    assert first == {"a": "A", "b": "B", "c": "C"}
    assert letters(["c", "d", "e"], first) == {"c": "C", "d": "A", "e": "B"}


def test_there_are_letters_for_many_jobs_and_the_others_have_none() -> None:
    given = letters([f"job-{number}" for number in range(100)], {})
    assert sorted(given.values()) == sorted(LETTERS)
    assert len({letter_style(letter) for letter in LETTERS}) > 5


def test_every_gpu_is_a_cell_with_the_letter_of_its_job() -> None:
    jobs = [
        a_running_job("job-1", workers=[on("n1", 0, 1, 2, 3), on("n2", 0)]),
        a_running_job("job-2", workers=[on("n1", 7, share=0.5)], started="2026-03-02T10:00:00Z"),
    ]
    nodes = [busy("n1", 4.5, "job-1", "job-2"), busy("n2", 1, "job-1", bad_gpus=[6], quarantined_gpus=[7])]
    assert drawn(a_glance(jobs, nodes)) == ["n1 AAAA...B   n2 A.....x?"]


def test_gpus_of_jobs_that_the_user_may_not_see_are_in_use_all_the_same() -> None:
    assert drawn(a_glance([], [busy("n1", 2.25)])) == ["n1 ###....."]


def test_tasks_of_an_array_have_the_letter_of_the_array() -> None:
    sweep = a_job("job-1", state="running", tasks={"running": 2, "blocked": 5}, gpus=2)
    assert drawn(a_glance([sweep], [busy("n1", 2, "job-1.0", "job-1.1")])) == ["n1 AA......"]
    mixed = busy("n1", 3, "job-1.0", "job-1.1", "job-9.4")
    assert drawn(a_glance([sweep], [mixed])) == ["n1 ###....."]


@pytest.mark.parametrize(("state", "cells"), [("drained", "-"), ("down", "-"), ("draining", "."), ("ready", ".")])
def test_gpus_that_take_no_work_are_not_free(state: str, cells: str) -> None:
    assert drawn(a_glance([], [a_node("n1", state=state)])) == [f"n1 {cells * 8}"]


def test_letters_can_stand_for_teams_and_tiers() -> None:
    jobs = [
        a_running_job("job-1", team="nlp", workers=[on("n1", 0)]),
        a_running_job("job-2", team="vision", workers=[on("n1", 1)]),
        a_running_job("job-3", team="nlp", workers=[on("n1", 2)], tier="production"),
    ]
    glance = a_glance(jobs, [busy("n1", 3)])
    assert drawn(glance, Paint.TEAM) == ["n1 ABA....."]
    assert drawn(glance, Paint.TIER) == ["n1 AAB....."]
    assert legend(painted(glance, Paint.TEAM, {})).plain == "A nlp  B vision"


def test_nodes_stand_below_their_pool_and_domain() -> None:
    nodes = [
        a_node("n1", domains={"block": "b1", "rack": "r1"}),
        a_node("n2", domains={"block": "b1", "rack": "r2"}, pool="spot"),
    ]
    assert drawn(a_glance([], nodes), rows=4) == ["main b1/r1", "n1 ........", "spot b1/r2", "n2 ........"]
    assert drawn(a_glance([], nodes), rows=3) == ["n1 ........   n2 ........"]


def test_a_map_that_does_not_fit_is_summed_up_by_place_and_then_by_pool() -> None:
    nodes = [busy(f"n{n}", 4, domains={"rack": f"r{n // 10}"}, state="down" if n == 3 else "ready") for n in range(40)]
    by_rack = drawn(a_glance([], nodes), rows=5)
    assert [line.split()[0] for line in by_rack] == ["r0", "r1", "r2", "r3"]
    assert by_rack[0].endswith("40/72  10 nodes, 1 not ready")
    assert len(drawn(a_glance([], nodes), rows=3)) == 1
    pools = [a_node(f"n{number}", pool=f"p{number}") for number in range(9)]
    assert drawn(a_glance([], pools), width=30, rows=3)[-1] == "… and 7 more"


def test_a_map_is_as_wide_as_the_window() -> None:
    nodes = [a_node(f"n{number}") for number in range(1, 21)]
    for width in (11, 40, 80, 200):
        assert max(map(len, drawn(a_glance([], nodes), width=width))) <= max(width, len("n20 ........"))


def test_pools_are_told_apart_where_there_are_several() -> None:
    nodes = [busy("n1", 8), busy("n2", 2, pool="spot"), a_node("n3", pool="spot", state="down")]
    lines = [line.plain for line in pool_lines(a_glance([], nodes), width=80, plain=True)]
    assert lines == ["main ################ 8/8 (100 %)", "spot ####............ 2/8 (25 %), 1 of 2 nodes not ready"]
    assert pool_lines(a_glance([], nodes[:1]), width=80, plain=True) == []


def test_many_pools_are_summed_up() -> None:
    lines = pool_lines(a_glance([], [busy(f"n{n}", 1, pool=f"p{n}") for n in range(9)]), width=80, plain=True)
    assert len(lines) == 6
    assert lines[-1].plain.startswith("others")
    assert "4/32" in lines[-1].plain


def test_tiers_say_what_they_have_and_how_long_their_jobs_wait() -> None:
    tiers = {
        "production": {"running": 1, "waiting": 0, "oldest": None},
        "standard": {"running": 1, "waiting": 3, "oldest": "2026-03-02T09:00:00Z"},
        "best-effort": {"running": 0, "waiting": 0, "oldest": None},
    }
    jobs = [a_running_job("job-1", tier="production"), a_running_job("job-2", gpus=2)]
    glance = a_glance(jobs, [busy("n1", 8), busy("n2", 4)], tiers=tiers)
    assert tier_line(glance).plain == "production 8 GPUs  standard 2 GPUs, 3 wait (3h)  others 2 GPUs"
    assert tier_line(a_glance()).plain == "nothing waits or runs"


def test_the_headline_counts_what_could_be_used() -> None:
    nodes = [busy("n1", 4, bad_gpus=[7]), a_node("n2", state="drained")]
    glance = a_glance([], nodes, running=1, waiting=2, oldest="2026-03-02T11:00:00Z")
    assert headline(glance, width=80, plain=True).plain.endswith("  4 of 7 GPUs (57 %), 1 run, 2 wait (up to 1h)")


def test_jobs_that_are_not_listed_are_counted_with_the_tasks_of_arrays() -> None:
    sweep = a_job("job-2", state="running", tasks={"running": 3, "queued": 4, "succeeded": 1})
    glance = a_glance([a_running_job("job-1"), sweep, a_job("job-3")], [], running=6, waiting=7)
    assert glance.unlisted == (2, 2)
