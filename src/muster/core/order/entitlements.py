"""What every job is due of the cluster over its whole life: its team's part by weight, divided between its jobs.

The team tree is a tree of branches, with the jobs as leaves. A branch is active while a job below it has not ended.
What a branch is due is divided between its active children by their weights. Between two changes only time passes, so
each branch integrates what one unit of weight below it has been due so far. When a job comes or goes, only the branches
above it are brought up to date.
"""

from typing import NamedTuple

from muster.core.order.quota import own_jobs
from muster.model.ids import JobId, TeamPath
from muster.model.saved_state import BranchRecord, EntitlementsRecord, MemberRecord
from muster.model.team import Team, ancestors

GRAIN = 1 << 24
"""Integrals are kept in this fraction of a GPU thousandth times a millisecond, so fine that rounding hardly matters."""

DEFAULT_WEIGHT = 1000
"""The weight of a team that is not declared, and of each job among the jobs of its team."""


class _DueBranch:
    """A team, the jobs that a team submits itself, or the whole cluster."""

    __slots__ = ("above", "due_above_seen", "due_each", "weight", "weight_below")

    def __init__(self, weight: int, above: "_DueBranch | None") -> None:
        self.weight = weight
        self.above = above
        self.weight_below = 0
        """The weight of all its active children together."""
        self.due_each = 0
        """What one unit of weight below it has been due so far."""
        self.due_above_seen = 0
        """The `due_each` of the branch above when this branch was last brought up to date."""

    def copy(self, above: "_DueBranch | None") -> "_DueBranch":
        """A copy of the branch below another branch."""
        made = _DueBranch(self.weight, above)
        made.weight_below = self.weight_below
        made.due_each = self.due_each
        made.due_above_seen = self.due_above_seen
        return made

    @classmethod
    def of(cls, record: BranchRecord, above: "_DueBranch | None") -> "_DueBranch":
        """The branch that was recorded."""
        made = cls(record.weight, above)
        made.weight_below = record.weight_below
        made.due_each = record.due_each
        made.due_above_seen = record.due_above_seen
        return made

    def record(self, team: TeamPath) -> BranchRecord:
        """The branch as values, under the name of its team."""
        return BranchRecord(
            team=team,
            weight=self.weight,
            weight_below=self.weight_below,
            due_each=self.due_each,
            due_above_seen=self.due_above_seen,
        )


class _Member(NamedTuple):
    """A job that has not ended."""

    team: TeamPath
    since_ms: int
    due_before: int
    """What one unit of weight of its team's own jobs had been due when the job came."""


class Entitlements:
    """What all jobs that have not ended are due. Times never go back."""

    def __init__(self, teams: tuple[Team, ...], capacity_milli: int, now_ms: int = 0) -> None:
        self._now_ms = now_ms
        self._capacity_milli = capacity_milli
        self._members: dict[JobId, _Member] = {}
        self._weights: dict[TeamPath, int] = {}
        self._branches: dict[TeamPath, _DueBranch] = {}
        self._root = _DueBranch(DEFAULT_WEIGHT, None)
        self._plant(teams)

    def _plant(self, teams: tuple[Team, ...]) -> None:
        self._weights = {team.path: max(team.weight, 1) for team in teams}
        self._branches = {}
        self._root = _DueBranch(DEFAULT_WEIGHT, None)

    def copy(self) -> "Entitlements":
        """An independent copy."""
        made = Entitlements((), self._capacity_milli, self._now_ms)
        made._members = self._members.copy()
        made._weights = self._weights.copy()
        made._root = self._root.copy(None)
        for path, branch in self._branches.items():  # in the order in which they grew: the branch above comes first
            made._branches[path] = branch.copy(made._above(path))
        return made

    @classmethod
    def of(cls, record: EntitlementsRecord) -> "Entitlements":
        """The entitlements that were recorded."""
        made = cls((), record.capacity_milli, record.now_ms)
        made._weights = dict(record.weights)
        made._root = _DueBranch.of(record.root, None)
        for branch in record.branches:
            made._branches[branch.team] = _DueBranch.of(branch, made._above(branch.team))
        made._members = {each.job: _Member(each.team, each.since_ms, each.due_before) for each in record.members}
        return made

    def record(self) -> EntitlementsRecord:
        """Everything in here, as values."""
        return EntitlementsRecord(
            now_ms=self._now_ms,
            capacity_milli=self._capacity_milli,
            weights=tuple(self._weights.items()),
            root=self._root.record(TeamPath("")),
            branches=tuple(branch.record(team) for team, branch in self._branches.items()),
            members=tuple(
                MemberRecord(job=job, team=member.team, since_ms=member.since_ms, due_before=member.due_before)
                for job, member in self._members.items()
            ),
        )

    def join(self, job: JobId, team: TeamPath, at_ms: int) -> None:
        """A job was submitted."""
        self._pass_time(at_ms)
        leaf = self._branch(own_jobs(team))
        self._change(leaf, DEFAULT_WEIGHT)
        self._members[job] = _Member(team, at_ms, leaf.due_each)

    def leave(self, job: JobId, at_ms: int) -> None:
        """A job has ended. No effect when the job is not known."""
        member = self._members.pop(job, None)
        if member is not None:
            self._pass_time(at_ms)
            self._change(self._branch(own_jobs(member.team)), -DEFAULT_WEIGHT)

    @property
    def are_declared(self) -> bool:
        """False when no team is declared. Then nothing says what any job is due."""
        return bool(self._weights)

    def knows(self, job: JobId) -> bool:
        """True for a job that has joined and not left."""
        return job in self._members

    def resize(self, capacity_milli: int, at_ms: int) -> None:
        """The cluster has this many GPU thousandths from now on."""
        self._pass_time(at_ms)
        self._capacity_milli = capacity_milli

    def change_teams(self, teams: tuple[Team, ...], at_ms: int) -> None:
        """Use new weights from now on, and forget what was due before."""
        members, self._members = self._members, {}
        self._plant(teams)
        for job, member in members.items():
            self.join(job, member.team, at_ms)

    def share_milli(self, job: JobId, now_ms: int) -> int | None:
        """GPU thousandths that a job was due on average since it came, at least one; None when the job is not known.

        Reading brings no branch up to date, because each update rounds once more.
        """
        member = self._members.get(job)
        if member is None:
            return None
        leaf = self._branches[own_jobs(member.team)]
        lived_ms = now_ms - member.since_ms
        due = self._due_each(leaf, now_ms) - member.due_before if lived_ms > 0 else self._rate(leaf)
        return max(due * DEFAULT_WEIGHT // (max(lived_ms, 1) * GRAIN), 1)

    def due_milli_ms(self, job: JobId, now_ms: int) -> int:
        """All that a job was due since it came, in GPU thousandths times milliseconds."""
        member = self._members[job]
        leaf = self._branches[own_jobs(member.team)]
        return (self._due_each(leaf, now_ms) - member.due_before) * DEFAULT_WEIGHT // GRAIN

    def fair_ms(self, job: JobId, gpu_milli: int, ran_ms: int, now_ms: int) -> int | None:
        """How long the job would have taken on its due share for what it has done; None when its share is not known."""
        share_milli = self.share_milli(job, now_ms) if self.are_declared else None
        return None if share_milli is None else ran_ms * max(gpu_milli, share_milli) // share_milli

    def _due_each(self, branch: _DueBranch, now_ms: int) -> int:
        """What one unit of weight below an active branch will have been due by `now_ms`, if nothing changes."""
        above = branch.above
        if above is None:
            return branch.due_each + max(now_ms - self._now_ms, 0) * self._rate(branch)
        return (
            branch.due_each
            + (self._due_each(above, now_ms) - branch.due_above_seen) * branch.weight // branch.weight_below
        )

    def _rate(self, branch: _DueBranch) -> int:
        """What one unit of weight below an active branch is due in a millisecond."""
        total = self._capacity_milli * GRAIN if branch.above is None else self._rate(branch.above) * branch.weight
        return total // branch.weight_below

    def _branch(self, path: TeamPath) -> _DueBranch:
        """The branch of a team or of its own jobs. A new branch is made together with the missing branches above it."""
        known = self._branches.get(path)
        if known is None:
            known = self._branches[path] = _DueBranch(self._weights.get(path, DEFAULT_WEIGHT), self._above(path))
            self._catch_up(known)
        return known

    def _above(self, path: TeamPath) -> _DueBranch:
        parents = ancestors(path)[1:]
        return self._branch(parents[0]) if parents else self._root

    def _pass_time(self, at_ms: int) -> None:
        """Count the time since the last change: the whole cluster is due to the active branches."""
        if at_ms > self._now_ms:
            if self._root.weight_below:
                self._root.due_each = self._due_each(self._root, at_ms)
            self._now_ms = at_ms

    def _catch_up(self, branch: _DueBranch) -> None:
        """Bring the integral of a branch up to date, after the branches above it."""
        above = branch.above
        if above is None:
            return
        self._catch_up(above)
        if branch.weight_below:
            branch.due_each = self._due_each(branch, self._now_ms)
        branch.due_above_seen = above.due_each

    def _change(self, branch: _DueBranch, by_weight: int) -> None:
        """Change the weight below a branch. A branch that becomes active or inactive changes the branch above it."""
        self._catch_up(branch)
        was_active = branch.weight_below > 0
        branch.weight_below += by_weight
        is_active = branch.weight_below > 0
        if branch.above is not None and was_active != is_active:
            self._change(branch.above, branch.weight if is_active else -branch.weight)
