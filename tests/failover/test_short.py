"""A short run of the failover driver: a leader is stopped and woken, and another is cut off from the database."""

import psycopg
import pytest

from tests.failover.faults import FAULTS, ORDER, SERVES_S
from tests.failover.trial import machine, run_tries
from tests.failover.witness import Write

KINDS = ("stop", "cut")


def test_every_kind_of_fault_has_its_turn_in_a_long_run() -> None:
    assert set(ORDER) == set(FAULTS)


def test_a_leader_that_was_replaced_writes_nothing_and_disturbs_no_job() -> None:
    with machine() as planes:
        for each in run_tries(planes, KINDS, seed=1):
            assert not each.problems, "\n".join(each.problems)
            assert each.stale_writes == 0
            assert each.has_moved
            assert each.took_s < SERVES_S
        writes = planes.witness.writes()
        assert {write.epoch for write in writes} >= {1, 2, 3}
        with psycopg.connect(planes.postgres.url, autocommit=True) as connection:
            connection.execute("SET muster.plane = 'nobody'")
            connection.execute("UPDATE head SET version = version")
        (stale,) = planes.witness.writes()[len(writes) :]
        assert stale.is_stale


@pytest.mark.parametrize(("plane", "leader", "is_stale"), [("1", "1", False), ("1", "2", True), ("", "2", True)])
def test_a_write_is_stale_when_another_leads(plane: str, leader: str, is_stale: bool) -> None:
    assert Write(version=1, epoch=1, plane=plane, leader=leader).is_stale is is_stale
