"""Each promise that a trial judges can be seen broken: planted evidence is found, and honest evidence passes."""

from dataclasses import replace

import pytest

from tests.chaos.checks import judge, partial_gangs, rules_of
from tests.chaos.evidence import Answer, Asked, Evidence, Struck, Violation, overlap_s
from tests.chaos.ledger import Line, Run, runs_of


def a_run(
    label: str = "one",
    *,
    attempt: int = 1,
    rank: int = 0,
    world: int = 1,
    node: str = "n1",
    gpus: tuple[int, ...] = (0,),
    started_s: float = 100,
    gone_s: float = 102,
    code: int | None = 0,
    printed: int = 3,
) -> Run:
    return Run(
        label=label,
        job="job-1",
        attempt=attempt,
        rank=rank,
        world=world,
        node=node,
        gpus=gpus,
        pid=1000 + attempt * 10 + rank,
        ticks=1,
        started_s=started_s,
        alive_s=gone_s,
        gone_s=gone_s,
        is_alive=False,
        code=code,
        printed=printed,
        prints=((gone_s, printed),),
    )


def a_job(
    label: str = "one",
    *,
    ends: str = "succeeded",
    acked_s: float = 99,
    cancel_s: float | None = None,
    limit_s: float | None = None,
    grace_s: float = 10,
) -> Asked:
    return Asked(
        label=label,
        ends=ends,
        labels=(label,),
        id="job-1",
        acked_s=acked_s,
        cancel_asked_s=cancel_s,
        cancel_acked_s=cancel_s,
        limit_s=limit_s,
        grace_s=grace_s,
    )


def an_answer(state: str = "succeeded", *, label: str = "one", job: str = "job-1") -> dict[str, Answer]:
    return {label: Answer(id=job, name=label, state=state)}


def shown(lines: int) -> str:
    return "".join(f"line {number} of one attempt 1 step {number + 1}\n" for number in range(lines))


def honest() -> Evidence:
    """One job that ran once and ended well, as every source says."""
    return Evidence(
        asked=[a_job()],
        runs=[a_run()],
        answers=an_answer(),
        ended={"one": (102.1, "succeeded")},
        logs={("one", 1, 0): shown(3)},
    )


def broken(evidence: Evidence) -> list[str]:
    return sorted(rules_of(judge(evidence)))


def a_clash(over: str, **details: object) -> Line:
    return Line(
        what="clash",
        label="one",
        job="job-1",
        attempt=2,
        rank=0,
        world=1,
        node="n2",
        gpus=(0,),
        pid=7,
        ticks=1,
        at_s=101,
        details={"over": over, "held_by": [1010, 1000], **details},
    )


def test_an_honest_trial_breaks_nothing() -> None:
    assert broken(honest()) == []


@pytest.mark.parametrize(
    ("over", "rule"),
    [("rank", "same-attempt-twice"), ("attempt", "two-attempts-at-once"), ("gpu", "gpu-given-twice")],
)
def test_what_a_worker_found_claimed_is_found(over: str, rule: str) -> None:
    evidence = honest()
    evidence.clashes = [a_clash(over, gpu=0)]
    assert broken(evidence) == [rule]
    assert "held by one (job-1) attempt 1 rank 0 on n1" in judge(evidence)[0].told


def test_two_attempts_that_lived_together_are_found_down_to_hundredths_of_a_second() -> None:
    evidence = honest()
    evidence.runs = [a_run(code=None, gone_s=102), a_run(attempt=2, node="n2", started_s=101.97, gone_s=104)]
    evidence.ended = {}
    assert broken(evidence) == ["two-attempts-at-once"]
    evidence.runs[1] = replace(evidence.runs[1], started_s=102.0)
    assert broken(evidence) == []


def test_one_attempt_that_two_processes_ran_is_found() -> None:
    evidence = honest()
    evidence.runs.append(a_run(node="n2", started_s=101))
    assert broken(evidence) == ["two-attempts-at-once"]


def test_a_gpu_that_two_jobs_had_is_found() -> None:
    evidence = honest()
    evidence.asked.append(a_job("two"))
    evidence.runs.append(a_run("two", started_s=101, gone_s=103))
    evidence.answers |= an_answer(label="two")
    evidence.logs |= {("two", 1, 0): shown(3)}
    assert broken(evidence) == ["gpu-given-twice"]
    evidence.runs[1] = replace(evidence.runs[1], gpus=(1,))
    assert broken(evidence) == []


def test_a_job_that_was_acknowledged_and_is_gone_is_found() -> None:
    evidence = honest()
    evidence.answers = {}
    assert broken(evidence) == ["lost"]


def test_a_job_whose_number_is_another_one_now_is_found() -> None:
    evidence = honest()
    evidence.answers = an_answer(job="job-7")
    assert broken(evidence) == ["lost"]


def test_what_an_old_backup_does_not_know_may_be_gone_and_nothing_else() -> None:
    evidence = honest()
    evidence.answers = {}
    evidence.rollbacks = [(98.0, 110.0)]
    assert broken(evidence) == []
    evidence.rollbacks = [(99.5, 110.0)]
    assert broken(evidence) == ["lost"]


def test_a_job_that_never_ends_is_found() -> None:
    evidence = honest()
    evidence.answers = an_answer("running")
    assert broken(evidence) == ["never-ended"]


@pytest.mark.parametrize("code", [None, 7])
def test_a_false_success_is_found(code: int | None) -> None:
    evidence = honest()
    evidence.runs = [a_run(code=code)]
    assert broken(evidence) == ["false-succeeded"]


def test_a_success_of_a_job_that_never_ran_is_found() -> None:
    evidence = honest()
    evidence.runs = []
    assert broken(evidence) == ["false-succeeded"]


def test_a_success_of_half_a_gang_is_found() -> None:
    evidence = honest()
    evidence.runs = [a_run(world=2), a_run(rank=1, world=2, node="n2", code=None)]
    assert broken(evidence) == ["false-succeeded"]


@pytest.mark.parametrize("state", ["failed", "cancelled", "timed_out"])
def test_an_end_that_nothing_explains_is_found(state: str) -> None:
    evidence = honest()
    evidence.answers = an_answer(state)
    assert broken(evidence) == [f"false-{state}"]


def test_a_job_may_fail_when_a_fault_struck_its_worker() -> None:
    evidence = honest()
    evidence.runs = [a_run(code=None)]
    evidence.answers = an_answer("failed")
    assert broken(evidence) == ["false-failed"]
    evidence.struck = [Struck(kind="worker-kill", from_s=101, until_s=101, labels=("one",))]
    assert broken(evidence) == []


def test_a_limit_that_had_not_passed_is_found() -> None:
    evidence = honest()
    evidence.asked = [a_job(ends="timed_out", limit_s=60, grace_s=2)]
    evidence.runs = [a_run(code=143)]
    evidence.answers = an_answer("timed_out")
    assert broken(evidence) == ["false-timed_out"]


def test_a_limit_may_pass_before_a_start_that_a_fault_held_up() -> None:
    evidence = honest()
    evidence.asked = [a_job(ends="timed_out", limit_s=6, grace_s=2)]
    evidence.runs = [a_run(started_s=100, gone_s=101, code=143)]
    evidence.answers = an_answer("timed_out")
    evidence.struck = [Struck(kind="worker-stop", from_s=97, until_s=100)]
    assert broken(evidence) == ["false-timed_out"]
    evidence.struck = [Struck(kind="supervisor-stop", from_s=97, until_s=100)]
    assert broken(evidence) == []
    evidence.runs = []
    assert broken(evidence) == []


def test_a_limit_that_passed_and_was_called_an_error_is_found() -> None:
    evidence = honest()
    evidence.asked = [a_job(ends="timed_out", limit_s=2, grace_s=1)]
    evidence.runs = [a_run(code=143)]
    evidence.answers = an_answer("failed")
    assert broken(evidence) == ["false-failed"]


def test_a_run_that_finished_and_was_run_again_is_found() -> None:
    evidence = honest()
    evidence.runs.append(a_run(attempt=2, started_s=103, gone_s=105))
    evidence.ended = {"one": (105.1, "succeeded")}
    assert broken(evidence) == ["run-again"]


def test_a_start_after_the_end_is_found() -> None:
    evidence = honest()
    evidence.runs = [a_run(code=None), a_run(attempt=2, started_s=103, gone_s=105)]
    assert broken(evidence) == ["run-again"]


def test_an_end_that_was_taken_back_is_found_unless_nothing_could_be_written() -> None:
    evidence = honest()
    evidence.reopened = [("one", 101.0, "running")]
    assert broken(evidence) == ["ended-again"]
    evidence.struck = [Struck(kind="disk-full", from_s=100, until_s=103)]
    assert broken(evidence) == []


def test_a_retry_too_many_is_found() -> None:
    evidence = honest()
    evidence.asked = [a_job(ends="failed")]
    evidence.answers = an_answer("failed")
    evidence.runs = [a_run(code=7), a_run(attempt=2, started_s=103, gone_s=104, code=7)]
    evidence.ended = {"one": (104.1, "failed")}
    assert broken(evidence) == ["retries"]


def test_output_with_a_gap_and_output_without_its_end_are_found() -> None:
    evidence = honest()
    evidence.logs = {("one", 1, 0): shown(1) + shown(3)[len(shown(2)) :]}
    assert broken(evidence) == ["output-gap"]
    evidence.logs = {("one", 1, 0): shown(2)}
    assert broken(evidence) == ["output-lost"]


def test_the_end_of_output_may_be_lost_with_its_supervisor_and_not_more() -> None:
    evidence = honest()
    evidence.logs = {("one", 1, 0): shown(2)}
    evidence.runs = [replace(a_run(), prints=((100.5, 2), (101.9, 3)))]
    evidence.struck = [Struck(kind="supervisor-kill", from_s=102, until_s=102, nodes=("n1",))]
    assert broken(evidence) == []
    evidence.logs = {("one", 1, 0): shown(1)}
    assert broken(evidence) == ["output-lost"]
    evidence.struck.append(Struck(kind="supervisor-stop", from_s=100.6, until_s=103, nodes=("n1",)))
    assert broken(evidence) == []  # no process had read since it hung


def test_an_overrun_limit_is_found_and_a_node_without_a_supervisor_is_excused() -> None:
    evidence = honest()
    evidence.asked = [a_job(ends="timed_out", limit_s=3, grace_s=2)]
    evidence.answers = an_answer("timed_out")
    evidence.runs = [a_run(gone_s=125, code=143)]
    evidence.ended = {}
    assert broken(evidence) == ["limit-overrun"]
    evidence.unattended = {"n1": [(105.0, 120.0)]}
    assert broken(evidence) == []


def test_an_overrun_grace_period_is_found() -> None:
    evidence = honest()
    evidence.asked = [a_job(ends="cancelled", cancel_s=101, grace_s=2)]
    evidence.answers = an_answer("cancelled")
    evidence.runs = [a_run(gone_s=120, code=None)]
    evidence.ended = {}
    assert broken(evidence) == ["grace-overrun"]
    evidence.struck = [Struck(kind="control-kill", from_s=100, until_s=112)]
    assert broken(evidence) == []


def test_a_gang_that_is_long_in_parts_is_found_and_measured() -> None:
    evidence = honest()
    evidence.asked = [a_job(ends="failed")]
    evidence.answers = an_answer("failed")
    evidence.runs = [a_run(world=2, code=7), a_run(rank=1, world=2, node="n2", gone_s=150, code=None)]
    evidence.ended = {}
    assert broken(evidence) == ["partial-gang"]
    assert [partial_s for _, _, partial_s in partial_gangs(evidence)] == [48]


def test_what_was_seen_on_the_spot_counts_once() -> None:
    evidence = honest()
    evidence.found = [Violation(rule="down-jobs", told="left"), Violation(rule="down-jobs", told="left")]
    assert judge(evidence) == evidence.found[:1]


def test_times_that_overlap_are_counted_once() -> None:
    assert overlap_s([(0, 5), (3, 8), (20, 30)], 2, 25) == 11


def test_a_process_is_what_its_lines_and_its_death_say() -> None:
    start = replace(a_clash("gpu"), what="start", at_s=100.0, ticks=9_990, details={})
    step = replace(start, what="step", at_s=100.5, details={"printed": 4})
    [run] = runs_of([start, step], {(7, 9_990): 101.0})
    assert (run.alive_s, run.gone_s, run.code, run.printed) == (100.5, 101.0, None, 4)
    [run] = runs_of([start, step, replace(step, what="end", at_s=100.6, details={"printed": 4, "code": 0})], {})
    assert (run.alive_s, run.gone_s, run.code) == (100.6, 100.6, 0)


def test_an_end_that_the_control_plane_could_not_hear_of_in_time_may_count_as_a_limit() -> None:
    evidence = honest()
    evidence.asked = [a_job(ends="timed_out", limit_s=10, grace_s=2)]
    evidence.answers = an_answer("timed_out")
    evidence.runs = [a_run(gone_s=101, code=None)]
    evidence.ended = {}
    assert broken(evidence) == ["false-timed_out"]
    evidence.struck = [
        Struck(kind="control-kill", from_s=100.5, until_s=104),
        Struck(kind="supervisor-stop", from_s=103, until_s=115, nodes=("n1",)),
    ]
    assert broken(evidence) == []


def test_an_answer_is_outdated_once_history_was_taken_back_after_it_was_asked_for() -> None:
    evidence = Evidence()
    assert not evidence.is_outdated(105.0)
    evidence.rollbacks = [(98.0, 110.0)]
    assert [evidence.is_outdated(asked_s) for asked_s in (97.0, 105.0, 110.5)] == [True, True, False]
    evidence.rollbacks, evidence.resets = [], [120.0]
    assert [evidence.is_outdated(asked_s) for asked_s in (119.0, 121.0)] == [True, False]
