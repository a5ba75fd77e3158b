from collections.abc import Sequence

from muster.model.records import evolve
from muster.sim.outcome import JobOutcome
from muster.sim.report.figures.contender import Contender
from muster.sim.report.figures.pairs import pair
from muster.sim.report.figures.sentences import against, alone
from muster.sim.report.sections.summary import summary_table
from tests.unit.sim.report.made_up import HOUR_MS, a_trace_job, an_outcome, replay_of


def under(policy: str, outcomes: Sequence[JobOutcome], **figures: object) -> Contender:
    return Contender(replay=replay_of(outcomes, policy=policy), label=policy, slot=0, summary=figures)


def waits_h(*hours: float, gpus: float = 1) -> list[JobOutcome]:
    """One-hour jobs with these waits."""
    return [
        an_outcome(a_trace_job(number, gpus=gpus), wait_ms=round(each * HOUR_MS)) for number, each in enumerate(hours)
    ]


def said(base: Sequence[JobOutcome], other: Sequence[JobOutcome]) -> str:
    return against(pair(under("fifo", base), under("muster", other))).replace("\u00a0", " ").replace("\u2212", "-")


def test_what_a_policy_brings_is_said_in_words() -> None:
    text = said(waits_h(9, 9, 9), waits_h(1, 1, 1))
    assert "mean completion 2 h instead of 10 h under fifo (-80 %)." in text
    assert "The median job finishes sooner: 5× with 1 GPU." in text
    assert "3 jobs finish sooner, 0 later and 0 within a minute of before." in text
    assert "No job waits longer." in text


def test_jobs_that_wait_a_day_longer_are_counted_with_the_worst() -> None:
    text = said(waits_h(0, 0, 0), waits_h(0, 30, 26))
    assert "2 jobs wait more than 24 h longer in all, the worst by 30 h." in text


def test_waits_after_the_first_start_count_too() -> None:
    started_at_once = [evolve(each, first_start_ms=0) for each in waits_h(0, 44)]
    text = said(waits_h(0, 0), started_at_once)
    assert "1 job waits more than 24 h longer in all, the worst by 44 h." in text
    assert "No job waits" not in text


def test_a_median_that_is_later_is_said_too() -> None:
    assert "The median job finishes later: 3× with 5–8 GPUs." in said(waits_h(0, gpus=8), waits_h(2, gpus=8))


def test_equal_policies_are_called_equal() -> None:
    text = said(waits_h(1, 2), waits_h(1, 2))
    assert "mean completion stays at 2.5 h, as under fifo." in text
    assert "median" not in text


def test_the_price_of_preemption_is_said() -> None:
    costly = under("muster", waits_h(0), preemptions_per_job=0.25, lost_fraction=0.02)
    text = against(pair(under("fifo", waits_h(0)), costly)).replace("\u00a0", " ")
    assert text.endswith("The price: 0.25 preemptions per job and 2.0 % of GPU time lost.")


def test_jobs_are_matched_by_id_whatever_their_order() -> None:
    assert "0 later and 2 within" in said(waits_h(1, 5), list(reversed(waits_h(1, 5))))


def test_one_policy_is_described_by_itself() -> None:
    text = alone(under("fifo", waits_h(1, 1, 1))).replace("\u00a0", " ")
    assert text.startswith("3 of 3 jobs finish, half of them within 2 h and 99 % within 2 h of being submitted.")


def test_the_best_of_each_measure_is_marked_and_compared_with_the_first() -> None:
    table = summary_table(
        [
            under("fifo", waits_h(1), jct_s={"mean": 7_200}, utilisation=0.9),
            under("muster", waits_h(0), jct_s={"mean": 3_600}, utilisation=0.8),
        ]
    )
    rows = {row[0].text: row[1:] for row in table.rows}
    mean, utilisation = rows["Completion, mean"], rows["Utilisation"]
    assert [cell.best for cell in mean] == [False, True]
    assert [cell.best for cell in utilisation] == [True, False]
    assert mean[1].detail.startswith("\u221250")
    assert mean[0].detail == ""


def test_what_does_not_exist_is_a_dash_and_never_the_best() -> None:
    nothing = {"jobs": 2, "finished": 0, "unfinished": 2, "jct_s": {"mean": None}, "makespan_s": None}
    table = summary_table(
        [
            under("fifo", waits_h(1), jobs=2, finished=2, unfinished=0, jct_s={"mean": 7_200}, makespan_s=5),
            under("muster", [], **nothing),
            under("las", waits_h(1), jobs=2, finished=2, unfinished=0, jct_s={"mean": 9_200}, makespan_s=6),
        ]
    )
    rows = {row[0].text: row[1:] for row in table.rows}
    assert [(cell.text, cell.best) for cell in rows["Completion, mean"][:2]] == [("2\u00a0h", True), ("–", False)]
    assert [cell.text for cell in rows["Jobs"]] == ["2", "2", "2"]
    assert [(cell.text, cell.detail, cell.best) for cell in rows["Jobs not finished"][:2]] == [
        ("0", "", False),
        ("2", "", False),
    ]
    assert "Jobs cancelled" not in rows


def test_what_exists_under_no_policy_has_a_row_of_dashes() -> None:
    table = summary_table([under("fifo", [], jct_s={"mean": None}, rho={"worst": None})])
    assert [(row[0].text, row[1].text) for row in table.rows] == [
        ("Completion, mean", "–"),
        ("Worst ρ (fairness)", "–"),
    ]


def test_what_no_summary_tells_has_no_row() -> None:
    table = summary_table([under("fifo", waits_h(1), goodput=0.9)])
    assert [row[0].text for row in table.rows] == ["Goodput"]
