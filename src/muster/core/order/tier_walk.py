"""The jobs of one tier in the order in which they are served: by guarantee, by fair share, then by their own order.

The walk takes into account what it has started itself: a team that was just served steps back behind its siblings.
Between teams with equal shares goes the job that would go first if they were of one team.
"""

from collections.abc import Callable
from heapq import heapify, heappop, heapreplace

from muster.core.order.queueing import JobClass, OrderKey
from muster.core.order.quota import Ledger, own_jobs
from muster.model.ids import JobId, TeamPath
from muster.model.team import ancestors


class _Leaf:
    """The classes of one team in one tier, ordered by their first jobs."""

    __slots__ = ("cursor", "heap", "path")

    def __init__(self, path: TeamPath) -> None:
        self.path = path
        self.heap: list[tuple[OrderKey, int, JobClass]] = []
        self.cursor: dict[int, int] = {}

    def peek(self) -> JobClass:
        return self.heap[0][2]

    @property
    def head(self) -> OrderKey:
        """The key of the job to serve next."""
        return self.heap[0][0]

    def advance(self) -> None:
        """The first job of the first class is decided. The class goes on with its next job."""
        group = self.heap[0][2]
        position = self.cursor.get(group.order, 0) + 1
        self.cursor[group.order] = position
        if position < len(group.jobs):
            heapreplace(self.heap, (group.jobs[position], group.order, group))
        else:
            heappop(self.heap)

    def drop(self) -> tuple[JobId, ...]:
        """Drop the first class, because none of its jobs can start in this cycle. Returns its undecided jobs."""
        group = heappop(self.heap)[2]
        position = self.cursor.get(group.order, 0)
        return group.ids[position:] if position else group.ids


class _WalkBranch:
    """Teams that compete with each other. The team to serve next is on top of the heap."""

    __slots__ = ("heap", "path")

    def __init__(self, path: TeamPath) -> None:
        self.path = path
        self.heap: list[_Entry] = []


_Entry = tuple[bool, int, OrderKey, _WalkBranch | _Leaf]
"""A team among its siblings: whether it would borrow, its share, and its next job, which no other team has."""


class TierWalk:
    """Hands out the jobs of one tier in order, taking into account what the walk itself has started."""

    def __init__(
        self,
        classes: list[JobClass],
        ledger: Ledger,
        by_team: bool,
        now_ms: int,
        is_hopeless: Callable[[JobClass], bool] = lambda _: False,
    ) -> None:
        self._ledger = ledger
        self._is_hopeless = is_hopeless
        """Asked before a class is handed out. If true, no job of the class can start, and the class is skipped."""
        self.skipped: list[tuple[JobClass, tuple[JobId, ...]]] = []
        self._now_ms = now_ms
        self._fair = by_team
        self._root = _WalkBranch(TeamPath(""))
        leaves = self._leaves = dict[TeamPath, _Leaf]()
        above = {outer: None for group in classes for outer in ancestors(group.team)[1:]} if self._fair else {}
        for group in classes:
            path = TeamPath("")
            if self._fair:
                # Only a team whose sub-teams also have waiting jobs needs a place of its own among them.
                path = own_jobs(group.team) if group.team in above else group.team
            leaf = leaves.get(path)
            if leaf is None:
                leaf = leaves[path] = _Leaf(path)
            leaf.heap.append((group.head, group.order, group))
        for leaf in leaves.values():
            heapify(leaf.heap)
        if self._fair:
            self._grow(leaves)
        else:
            self._root.heap = [self._entry(leaf) for leaf in leaves.values()]

    def _grow(self, leaves: dict[TeamPath, _Leaf]) -> None:
        """Build the part of the team tree that has waiting jobs, and order it."""
        branches: dict[TeamPath, _WalkBranch] = {TeamPath(""): self._root}
        for path, leaf in leaves.items():
            child: _WalkBranch | _Leaf = leaf
            outer = TeamPath(path.rpartition("/")[0])
            while True:
                known = branches.get(outer)
                branch = known or _WalkBranch(outer)
                branches[outer] = branch
                branch.heap.append((False, 0, leaf.head, child))
                if known is not None:
                    break
                child, outer = branch, TeamPath(outer.rpartition("/")[0])
        for path in sorted(branches, key=lambda path: (-path.count("/"), path == "", path)):
            branch = branches[path]
            branch.heap = [self._entry(entry[3]) for entry in branch.heap]
            heapify(branch.heap)

    def _entry(self, child: _WalkBranch | _Leaf) -> _Entry:
        """The sort key of a team among its siblings: teams below their guarantee first, then by share, then by job."""
        leaf = _first(child)
        if not self._fair:
            return (False, 0, leaf.head, child)
        choices = leaf.peek().gang.choices
        borrows = not any(self._ledger.within_guarantee(child.path, choice.demand) for choice in choices)
        return (borrows, self._ledger.share(child.path, self._now_ms), leaf.head, child)

    def _path_to_leaf(self) -> tuple[list[_WalkBranch], _Leaf]:
        branch = self._root
        path = [branch]
        while True:
            child = branch.heap[0][3]
            if isinstance(child, _Leaf):
                return path, child
            branch = child
            path.append(branch)

    def peek(self) -> tuple[JobClass, JobId] | None:
        """The class to serve next and its first job in line; None when all jobs were considered."""
        if not self._root.heap:
            return None
        _, leaf = self._path_to_leaf()
        return leaf.peek(), leaf.heap[0][0][-1]

    def advance(self) -> None:
        """Go on after the job that was handed out is decided (and perhaps charged)."""
        path, leaf = self._path_to_leaf()
        leaf.advance()
        self._update(path, leaf)

    def rest(self) -> list[tuple[JobClass, tuple[JobId, ...]]]:
        """All classes with their undecided jobs, in no particular order. The walk is over."""
        return [
            (group, group.ids[position:] if (position := leaf.cursor.get(group.order, 0)) else group.ids)
            for leaf in self._leaves.values()
            for _, _, group in leaf.heap
        ]

    def drop(self) -> tuple[JobId, ...]:
        """Go on without the class that was handed out: it cannot start in this cycle. Returns its undecided jobs."""
        path, leaf = self._path_to_leaf()
        dropped = leaf.drop()
        self._update(path, leaf)
        return dropped

    def _update(self, path: list[_WalkBranch], leaf: _Leaf) -> None:
        """Re-order every branch on the way up. Each child on the way is on top of its branch."""
        while leaf.heap and self._is_hopeless(leaf.peek()):
            group = leaf.peek()
            self.skipped.append((group, leaf.drop()))
        child: _WalkBranch | _Leaf = leaf
        for branch in reversed(path):
            if child.heap:
                heapreplace(branch.heap, self._entry(child))
            else:
                heappop(branch.heap)
            child = branch


def _first(child: _WalkBranch | _Leaf) -> _Leaf:
    """The leaf to serve next below a branch, or the leaf itself."""
    while isinstance(child, _WalkBranch):
        child = child.heap[0][3]
    return child
