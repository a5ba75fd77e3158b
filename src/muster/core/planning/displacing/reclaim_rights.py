"""What teams may take back: how much fits into their guarantee, which jobs borrow it, which they must spare.

All of it is derived from what each team will use, and is looked up for every class of a long queue. So it is kept until
a charge to the ledger changes it.
"""

from muster.core.cluster.gang import Choice, Demand
from muster.core.order.queueing import JobClass
from muster.core.planning.displacing.victims import Claim, Roster
from muster.core.planning.draft import PlanDraft
from muster.model.ids import TeamPath

NOBODY = 0
"""The number of the empty claim: it takes back from no job and has to spare no job."""

Rights = tuple[int, ...]
"""The number of the team's claim for each choice of a gang."""


class ReclaimRights:
    """The claims of all teams in one cycle."""

    def __init__(self, draft: PlanDraft) -> None:
        self._draft = draft
        self._ledger = draft.projected
        self.roster = Roster(draft)
        self._epoch = self._ledger.epoch
        self._headroom: dict[TeamPath, int] = {}
        self._entitled: dict[tuple[TeamPath, Demand], tuple[TeamPath, ...]] = {}
        self._numbers: dict[tuple[TeamPath, Demand], int] = {}
        self._rights: dict[tuple[TeamPath, int], Rights | None] = {}
        """By team and gang; None for a team that would not stay inside its guarantee."""
        self._claimed: dict[tuple[TeamPath, tuple[TeamPath, ...]], int] = {}
        self._number_of: dict[Claim, int] = {Claim(): NOBODY}
        self._claims = [Claim()]
        """Numbers outlast charges: what was found out about a claim holds for every team with the same one."""

    def _keep_up(self) -> None:
        """Forget what was derived before the last charge."""
        if self._epoch != self._ledger.epoch:
            self._epoch = self._ledger.epoch
            for derived in (self._headroom, self._entitled, self._numbers, self._rights, self._claimed):
                derived.clear()

    def claimants(self, groups: list[JobClass]) -> list[tuple[JobClass, Rights]]:
        """The classes whose team would stay inside its guarantee, with the rights that this gives them."""
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
            rights = tuple([self.number(group, choice) for choice in group.gang.choices])
        self._rights[(group.team, group.gang_number)] = rights
        return rights

    def number(self, group: JobClass, choice: Choice) -> int:
        """The number of the claim that the class's team has for this gang."""
        if not self._ledger.guarantees_anything:
            return NOBODY
        self._keep_up()
        key = (group.team, choice.demand)
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = self._number_for(group.team, self._entitled_teams(*key))
        return known

    def entitled(self, group: JobClass, choice: Choice) -> tuple[TeamPath, ...]:
        """The class's team and the teams above it that would stay inside their guarantee with this gang."""
        if not self._ledger.guarantees_anything:
            return ()
        self._keep_up()
        return self._entitled_teams(group.team, choice.demand)

    def would_borrow(self, team: TeamPath, demand: Demand, lender: TeamPath, entitled: tuple[TeamPath, ...]) -> bool:
        """True when a team with this gang would use what the lender may take back."""
        branches = self._ledger.branches(lender, team)
        return (
            branches is not None and branches[0] in entitled and not self._ledger.within_guarantee(branches[1], demand)
        )

    def __getitem__(self, number: int) -> Claim:
        """The claim that has this number."""
        return self._claims[number]

    def _entitled_teams(self, team: TeamPath, demand: Demand) -> tuple[TeamPath, ...]:
        """The team and the teams above it that would stay inside their guarantee with this gang."""
        key = (team, demand)
        known = self._entitled.get(key)
        if known is None:
            ledger = self._ledger
            known = self._entitled[key] = tuple(
                each for each in ledger.chain(team) if ledger.within_guarantee(each, demand)
            )
        return known

    def _number_for(self, team: TeamPath, entitled: tuple[TeamPath, ...]) -> int:
        known = self._claimed.get((team, entitled))
        if known is None:
            claim = self.roster.claim(team, entitled)
            known = self._claimed[(team, entitled)] = self._number_of.setdefault(claim, len(self._claims))
            if known == len(self._claims):
                self._claims.append(claim)
        return known
