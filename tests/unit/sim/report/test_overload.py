"""The section on lasting overload, and its sentences."""

from pathlib import Path
from typing import Any

import pytest

from muster.model.ids import TeamPath
from muster.sim.measures import measures
from muster.sim.outcome import Replay
from muster.sim.report import write_report
from muster.sim.report.figures.overload_words import overload_statements
from tests.builders import a_team
from tests.unit.sim.builders import a_trace_job, replayed
from tests.unit.sim.report.reading import read_page

HOUR_S = 3600


def overloaded(policy: str = "fifo", **circumstances: Any) -> Replay:
    """For four days a job of ten hours comes every six hours, in turn from two teams."""
    jobs = [
        a_trace_job(f"j{hour}", hour * HOUR_S, 10 * HOUR_S, 8, team=("nlp", "cv")[hour % 12 == 0])
        for hour in range(0, 96, 6)
    ]
    return replayed(jobs, policy=policy, **circumstances)


def said(made: Replay) -> dict[str, str]:
    figures = measures(made)["overload"]
    found = overload_statements(figures, [(made.policy, figures["waits"])])
    return {subject: text.replace("\u00a0", " ") for subject, text in found}


def test_the_sentences_say_what_when_who_and_what_to_do() -> None:
    assert said(overloaded()) == {
        "Load on the cluster": (
            "1.78 over the whole trace, and 1.68 from day 0.2 to day 3.9. That is what the 16 jobs of the trace ask "
            "for over 8 GPUs."
        ),
        "From when to when": (
            "demand exceeded capacity from day 0.2 to day 3.9. By then there was work for 2.5 days more. No policy "
            "could have done all of it before day 6.7; a policy only chooses which jobs wait."
        ),
        "Who waits under fifo": (
            "9 of 16 jobs (56.2 %) wait more than 24 h in all, 0 of them more than 24 h longer than the backlog alone "
            "would make them wait in the order of submission. 0 take more than 10 times as long as they run. "
            "By team: nlp (5 of 8) and cv (4 of 8)."
        ),
        "What would fix it": (
            "more nodes with 8 GPUs: 1 for a load of 1 and 1 for a load of 0.95 over the whole trace; 1 for a load of "
            "1 and 1 for a load of 0.95 in the stretch until day 3.9; 1 so that no overload lasts."
        ),
    }


def test_where_quota_binds_the_sentences_name_the_team_and_what_to_raise() -> None:
    jobs = [a_trace_job(f"j{hour}", hour * HOUR_S, 10 * HOUR_S, 2, team="nlp") for hour in range(0, 96, 6)]
    found = said(replayed(jobs, policy="muster", teams=(a_team("nlp", limit={"*": 2}),)))
    assert found["Load on the quota of team nlp"].endswith("That is what its jobs ask for over 2 GPUs.")
    assert found["What would fix it"].startswith("its limit of 2 GPUs binds, not the cluster. Raised by 2 GPUs for")


def test_the_section_is_there_only_if_there_was_lasting_overload(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report([overloaded("fifo"), overloaded("muster")], path)
    page = read_page(path)
    assert page.attributes("href")[:2] == ["#in-short", "#overload"]
    assert "Who waits under muster" in page.text
    assert "Jobs that wait more than 24 h in all, by team" in page.text
    demand, backlog = page.charts["overload"]["data"]
    assert max(demand["y"]) == pytest.approx(16, abs=1)
    assert max(backlog["y"]) == pytest.approx(2.5, abs=0.05)
    write_report([replayed([a_trace_job("a", team=TeamPath("nlp"))])], path)
    assert "#overload" not in read_page(path).attributes("href")
