"""Two hundred random scripts of signals: what is ill is taken out in time, and never more than may be."""

import pytest

from tests.simulation.health_scripts import Fleet

SCRIPTS = 200
AT_ONCE = 10


@pytest.mark.parametrize("first", range(0, SCRIPTS, AT_ONCE))
def test_what_is_ill_leaves_service_in_time_and_nothing_else_does(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        Fleet(seed).run()
