"""Whose nodes a database governs, and whose it governed before."""

import pytest

from muster.model.errors import Refused
from muster.model.machines.ownership import Leadership, Owner
from muster.store.sql import SqlStore

FIRST = Owner(machine="m1", home="/first", host="one")
SECOND = Owner(machine="m1", home="/second", host="one")
THIRD = Owner(machine="m2", home="/third", host="two")


def test_epochs_rise_and_the_name_stays(store: SqlStore) -> None:
    assert (store.cluster.owner(), store.cluster.leadership()) == (None, Leadership())
    first = store.cluster.lead(FIRST)
    assert (store.cluster.owner(), store.cluster.leadership(), first.epoch) == (FIRST, first, 1)
    again = store.cluster.lead(FIRST, above_epoch=7)
    assert (again.cluster, again.epoch) == (first.cluster, 8)
    assert store.cluster.former() is None


def test_the_former_owner_is_known_until_it_is_forgotten(store: SqlStore) -> None:
    store.cluster.lead(FIRST)
    with pytest.raises(Refused, match=r"/first on one"):
        store.cluster.lead(SECOND)
    store.cluster.lead(SECOND, take_over=True)
    assert (store.cluster.owner(), store.cluster.former()) == (SECOND, FIRST)
    store.cluster.lead(SECOND)  # a start that was killed before it was recorded, and the next
    assert store.cluster.former() == FIRST
    store.cluster.forget_former()
    assert (store.cluster.owner(), store.cluster.former()) == (SECOND, None)


def test_an_owner_that_started_nothing_is_passed_over(store: SqlStore) -> None:
    store.cluster.lead(FIRST)
    store.cluster.lead(SECOND, take_over=True)
    store.cluster.lead(THIRD, take_over=True)
    assert store.cluster.former() == FIRST
    store.cluster.lead(FIRST, take_over=True)
    assert (store.cluster.owner(), store.cluster.former()) == (FIRST, None)
