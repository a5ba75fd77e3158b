"""What teams may take back: how much fits into their guarantee, and who borrows it.

All of it is derived from who will use what, and is asked for every class of a long queue: it is kept until a charge to
the ledger changes that.
"""

from muster.core.gang import Choice, Demand
from muster.core.planning.desk import Desk
from muster.core.planning.victims import Lent, Roster
from muster.core.queueing import JobClass
from muster.model.ids import JobId, TeamPath

NOBODY = 0
"""The number of the empty set of borrowers."""

Rights = tuple[int, ...]
"""For every way to serve a gang the number of those who borrow what its team may take back for it."""


class Claims:
    """The claims of all teams in one cycle."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._ledger = desk.projected
        self._roster: Roster | None = None
        self._epoch = self._ledger.epoch
        self._headroom: dict[TeamPath, int] = {}
        self._entitled: dict[tuple[TeamPath, Demand], tuple[TeamPath, ...]] = {}
        self._lent: dict[tuple[TeamPath, Demand], int] = {}
        self._rights: dict[tuple[TeamPath, int], Rights | None] = {}
        """By team and gang; None for a team that would not stay inside its guarantee."""
        self._lenders: dict[tuple[TeamPath, tuple[TeamPath, ...]], int] = {}
        self._borrowers: dict[Lent, int] = {(): NOBODY}
        """Numbers outlast charges: what was found out about a set of borrowers holds for the set."""

    @property
    def has_roster(self) -> bool:
        """True once somebody needed to know who may be stopped."""
        return self._roster is not None

    def call_roll(self) -> Roster:
        """Find out who may be stopped, unless that is known."""
        if self._roster is None:
            self._roster = Roster(self._desk)
        return self._roster

    @property
    def roster(self) -> Roster:
        """All jobs that may be stopped; made when first needed."""
        return self._roster if self._roster is not None else self.call_roll()

    def strike_off(self, job_id: JobId) -> None:
        """Somebody was told to leave or to shrink: he cannot be asked again."""
        if self._roster is not None:
            self._roster.leave(job_id)

    def _keep_up(self) -> None:
        """Forget what the last charge made doubtful."""
        if self._epoch != self._ledger.epoch:
            self._epoch = self._ledger.epoch
            for derived in (self._headroom, self._entitled, self._lent, self._rights, self._lenders):
                derived.clear()

    def claimants(self, groups: list[JobClass]) -> list[tuple[JobClass, Rights]]:
        """Those classes whose team is inside its guarantee, with the rights that their equals may not have."""
        self._keep_up()
        headroom, known = self._headroom, self._rights
        found: list[tuple[JobClass, Rights]] = []
        for group in groups:
            room_milli = headroom.get(group.team)
            if room_milli is None:
                room_milli = headroom[group.team] = self._ledger.headroom_milli(group.team)
            if group.gpu_milli <= room_milli:
                key = (group.team, group.gang_number)
                rights = known[key] if key in known else self._find_rights(group)
                if rights is not None:
                    found.append((group, rights))
        return found

    def _find_rights(self, group: JobClass) -> Rights | None:
        demands = [choice.demand for choice in group.gang.choices]
        rights = None
        if any(self._entitled_teams(group.team, demand) for demand in demands):
            rights = tuple([self.lent(group, choice) for choice in group.gang.choices])
        self._rights[(group.team, group.gang_number)] = rights
        return rights

    def lent(self, group: JobClass, choice: Choice) -> int:
        """Who borrows what the class's team may take back for this gang, by number."""
        self._keep_up()
        key = (group.team, choice.demand)
        known = self._lent.get(key)
        if known is None:
            entitled = self._entitled_teams(*key)
            known = self._lent[key] = self._lent_by(group.team, entitled) if entitled else NOBODY
        return known

    def borrowers(self, number: int) -> Lent:
        """The set of borrowers that has this number."""
        return list(self._borrowers)[number]

    def _entitled_teams(self, team: TeamPath, demand: Demand) -> tuple[TeamPath, ...]:
        """The team and those above it that would stay inside their guarantee with this gang."""
        key = (team, demand)
        known = self._entitled.get(key)
        if known is None:
            ledger = self._ledger
            known = self._entitled[key] = tuple(
                each for each in ledger.chain(team) if ledger.within_guarantee(each, demand)
            )
        return known

    def _lent_by(self, team: TeamPath, entitled: tuple[TeamPath, ...]) -> int:
        known = self._lenders.get((team, entitled))
        if known is None:
            lent = self.roster.borrowing(team, entitled)
            known = self._lenders[(team, entitled)] = self._borrowers.setdefault(lent, len(self._borrowers))
        return known
