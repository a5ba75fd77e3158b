"""What waiting jobs are told is true: without the obstacle that a reason names, the reason is gone.

`python -m tests.property.reasons 0..2000` tries many more situations; `make soak` runs it.
"""

from dataclasses import replace

import pytest
from hypothesis import given

from muster.core.explaining.explain import Explanation
from muster.core.explaining.place_in_tier import PlacesInTier
from muster.model.plan import Reason, ReasonCode
from muster.model.scenario import Scenario
from tests.builders import a_job, a_scenario, flat, runs, waits
from tests.property import reasons
from tests.property.effort import examples
from tests.property.obstacles import NEVER_TOLD, REMOVALS
from tests.property.reasons import Findings, find, main, tried
from tests.property.situations import situations

KEPT = (2364, 2775, 6120)
"""Situations in which a reason was not true once."""

SEEDS = (*range(120), *KEPT)


def test_every_reason_code_says_how_its_obstacle_is_taken_away() -> None:
    assert {*REMOVALS, *NEVER_TOLD} == {*ReasonCode}
    assert not {*REMOVALS} & {*NEVER_TOLD}


def test_without_the_obstacle_that_it_names_every_reason_is_gone() -> None:
    found = Findings()
    for seed in SEEDS:
        found.add(find(seed))
    assert found.lies == []
    assert found.tried.total() > 2 * len(SEEDS)


@examples(50)
@given(situations())
def test_reasons_are_true_in_situations_that_shrink(scenario: Scenario) -> None:
    assert [lie for _, lie in tried(scenario) if lie] == []


FULL = a_scenario(
    flat(1), running=[runs("r", a_job(gpus=8, preemptible=False), [("n1", range(8))])], waiting=[waits("w", a_job())]
)


@pytest.mark.parametrize(
    "lie",
    [
        Reason(code=ReasonCode.DEPENDENCY, message="waits for other", would_help="", about=("other",)),
        Reason(code=ReasonCode.NEVER_FITS, message="it does not fit", would_help=""),
        Reason(code=ReasonCode.NODE_HEALTH, message="it would fit if n1 were in order", would_help="", about=("n1",)),
        Reason(code=ReasonCode.CAPACITY, message="needs 1 h100, 3 are free", would_help=""),
    ],
)
def test_a_reason_that_is_not_true_is_found(lie: Reason, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check is only as good as what it finds: here the core tells one thing that is not so."""

    def lying(explained: Explanation, _: PlacesInTier | None) -> Explanation:
        return replace(explained, reasons=(lie,))

    monkeypatch.setattr(reasons, "with_place", lying)
    assert [found for _, found in tried(FULL) if found]


def test_the_command_counts_reasons_and_tells_lies(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["0..3"]) == 0
    assert "reasons in 3 situations, 0 not true" in capsys.readouterr().out
