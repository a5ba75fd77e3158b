from itertools import islice, pairwise

from muster.client.pauses import GROWTH, LONGEST_S, SHORTEST_S, pauses_s


def test_a_caller_that_waits_asks_often_at_first_and_at_least_every_two_seconds() -> None:
    pauses = list(islice(pauses_s(), 20))
    assert pauses[0] == SHORTEST_S
    assert pauses[-1] == LONGEST_S
    assert all(after == min(before * GROWTH, LONGEST_S) for before, after in pairwise(pauses))
