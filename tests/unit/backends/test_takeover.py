"""Who may lead: one home by its own database, and another only once what runs in the first is known to have ended."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from muster.backends.local.ownership import this_owner
from muster.backends.local.takeover import Charge, GoverningDatabase, Wanted, take_charge
from muster.model.errors import Refused, Unavailable
from muster.model.events import WorkersExited
from muster.model.machines.ownership import Leadership, Owner
from muster.worker.processes.process_table import boot_id
from muster.worker.records.journal import JOURNAL, Journal


@dataclass
class Record:
    """What a database remembers."""

    its_owner: Owner | None = None
    before: Owner | None = None
    led: Leadership = Leadership()
    is_full: bool = False

    def owner(self) -> Owner | None:
        return self.its_owner

    def former(self) -> Owner | None:
        return self.before

    def leadership(self) -> Leadership:
        return self.led

    def lead(self, owner: Owner, *, above_epoch: int = 0, take_over: bool = False) -> Leadership:
        if self.is_full:
            raise Unavailable("the disk is full")
        if self.its_owner is not None and not self.its_owner.is_same(owner):
            if not take_over:
                raise Refused("another home")
            self.before = self.its_owner
        self.its_owner = owner
        self.led = Leadership(cluster=self.led.cluster or "c1", epoch=max(self.led.epoch, above_epoch) + 1)
        return self.led


def a_home(folder: Path, name: str = "home") -> Path:
    home = folder / name
    home.mkdir(exist_ok=True)
    return home


def note(home: Path, *entries: tuple[object, ...], node: str = "n1") -> None:
    """Have a node's journal say this."""
    folder = home / "nodes" / node
    folder.mkdir(parents=True, exist_ok=True)
    journal = Journal(folder / JOURNAL)
    for entry in entries:
        journal.add(*entry)
    journal.close()


RUNS: tuple[tuple[object, ...], ...] = (
    ("fence", "job-7", 1, 1, 0),
    ("seat", "job-7", 0, "token", []),
    ("alive", "job-7", 0, 1 << 22, 5),
)


def charged(home: Path, record: Record, *, is_empty: bool = False, **said: bool) -> Charge:
    return take_charge(Wanted(home=home, **said), GoverningDatabase(name="muster.db", is_empty=is_empty, record=record))


def test_a_first_start_leads(tmp_path: Path) -> None:
    charge = charged(a_home(tmp_path), Record(), is_empty=True)
    assert charge.leadership == Leadership(cluster="c1", epoch=1)
    assert (charge.highest_number, charge.last_words) == (0, None)


def test_an_epoch_is_above_all_that_nodes_have_heard_of(tmp_path: Path) -> None:
    home = a_home(tmp_path)
    note(home, ("ruled", "c1", 9), *RUNS)
    charge = charged(home, Record(its_owner=this_owner(home), led=Leadership(cluster="c1", epoch=3)))
    assert (charge.leadership.epoch, charge.highest_number) == (10, 7)


def test_nodes_are_told_to_obey_another_database_only_when_they_obeyed_one(tmp_path: Path) -> None:
    home = a_home(tmp_path)
    record = Record(its_owner=this_owner(home), led=Leadership(cluster="c1", epoch=3))
    note(home, ("boot", boot_id()), ("ruled", "c1", 3))
    assert not charged(home, record).leadership.takes_over
    note(home, ("ruled", "c0", 3), node="n2")
    assert charged(home, record).leadership.takes_over  # nothing runs there
    note(home, *RUNS)
    with pytest.raises(Refused, match=r"job-7 \(attempt 1\) on n1"):
        charged(home, record)
    assert charged(home, record, new_database=True).leadership.takes_over


def test_an_empty_database_beside_nodes_that_obeyed_one_is_refused(tmp_path: Path) -> None:
    home = a_home(tmp_path)
    note(home, ("ruled", "c0", 3))
    with pytest.raises(Refused, match="was it moved"):
        charged(home, Record(), is_empty=True)
    assert charged(home, Record(), is_empty=True, new_database=True).leadership.takes_over


def test_a_take_over_hears_what_the_home_before_had_to_say(tmp_path: Path) -> None:
    old, new = a_home(tmp_path, "old"), a_home(tmp_path, "new")
    exited = {"type": "WorkersExited", "at_ms": 1, "job": "job-7", "attempt": 1, "generation": 1}
    note(old, ("ruled", "c1", 3), ("report", 1, {**exited, "ranks": [0], "exit_code": 0}))
    record = Record(its_owner=this_owner(old), led=Leadership(cluster="c1", epoch=3))
    with pytest.raises(Refused, match="another home"):
        charged(new, record)
    for said in ({"take_over": True}, {}):  # and again, when the start after that was killed before it was recorded
        (heard,) = charged(new, record, **said).last_words or ()
        assert isinstance(heard, WorkersExited)
        assert (heard.job, heard.exit_code) == ("job-7", 0)
    record.before = None
    assert charged(new, record).last_words is None


@pytest.mark.parametrize("is_left", [True, False], ids=["an empty home", "no home"])
def test_a_home_that_is_not_there_counts_as_fenced_only_when_that_is_said(tmp_path: Path, is_left: bool) -> None:
    owner = this_owner(a_home(tmp_path, "old") if is_left else tmp_path / "old")
    record = Record(its_owner=owner, led=Leadership(cluster="c1", epoch=3))
    with pytest.raises(Refused, match=r"old/nodes is not there; .*--take-over --fenced"):
        charged(a_home(tmp_path), record, take_over=True)
    assert record.its_owner == owner
    assert charged(a_home(tmp_path), record, take_over=True, is_fenced=True).last_words == ()


def test_a_home_on_another_machine_is_fenced_there(tmp_path: Path) -> None:
    owner = Owner(machine="other", home=str(a_home(tmp_path, "old")), host="node7")
    record = Record(its_owner=owner, led=Leadership(cluster="c1", epoch=3))
    with pytest.raises(Refused, match=r"on node7 cannot be ended from here: run `muster down --jobs"):
        charged(a_home(tmp_path), record, take_over=True)
    assert charged(a_home(tmp_path), record, take_over=True, is_fenced=True).last_words == ()


def test_on_a_full_disk_a_home_goes_on_and_another_one_does_not_begin(tmp_path: Path) -> None:
    home = a_home(tmp_path)
    record = Record(its_owner=this_owner(home), led=Leadership(cluster="c1", epoch=3), is_full=True)
    assert charged(home, record).leadership == Leadership(cluster="c1", epoch=4)
    (a_home(tmp_path, "other") / "nodes").mkdir()
    for said in ({}, {"take_over": True}):
        (home / "nodes").mkdir(exist_ok=True)
        with pytest.raises(Unavailable):
            charged(tmp_path / "other", record, **said)
