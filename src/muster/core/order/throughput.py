"""How fast jobs are on which GPU type and how close together, learnt from the step times that jobs report.

Step times are compared only inside one group: jobs of one team, user, name and size are likely to train the same model.
Between groups they say nothing, because a step of one model is a minute and of another a millisecond. So a wider circle
takes no step times. It takes the median of the relative speeds that its groups have found.

Nothing asks this module yet, and no event reports step times. `speeds` has the form of `throughput` in a job and in the
policy. It belongs between the two: for a job that states none, before what the policy says of all jobs. These places
read such tables, and have to change together:

- `Setting.knows_speeds`, which is then also true for a job with learnt speeds;
- `_speed_milli` in `core/cluster/gang.py`, which looks a type up;
- `gang_key` there: jobs with different speeds are different classes, and a changed table makes new gangs;
- `checker/moves.py`, which states the rule a second time.

While nothing was reported `speeds` is empty, as the table of a job that states none.
"""

from collections import Counter, deque
from collections.abc import Iterable
from enum import StrEnum

from muster.core.cluster.tree import Tree
from muster.core.order.run_times import Circle, circles_of
from muster.model.ids import GpuType
from muster.model.job import Placement
from muster.model.limits import STEP_CIRCLES, STEP_KINDS, STEP_MEMBERS, STEP_WINDOW
from muster.model.resources import GPU_MILLI
from muster.model.saved_state import StepTimesRecord
from muster.model.spec import JobSpec

ENOUGH_STEPS = 16
"""How many steps a group must have seen on a type before its median is used."""

ENOUGH_GROUPS = 3
"""How many groups of a wider circle must have found speeds of the same types before their median is used."""

SPEED_STEP_MILLI = 50
"""Speeds are rounded to a twentieth. Otherwise every report would change a speed, and with it who is alike."""


class GangSpread(StrEnum):
    """How far the workers of a gang are apart."""

    NODE = "node"
    RACK = "rack"
    WIDER = "wider"


Speeds = tuple[tuple[GpuType, int], ...]
"""Relative speed per GPU type in thousandths of the fastest, sorted by type."""

_Kind = tuple[GpuType, GangSpread]


class Throughput:
    """Everything learnt so far. The same reports in the same order give the same speeds."""

    def __init__(self) -> None:
        self._groups: dict[Circle, dict[_Kind, deque[int]]] = {}
        """The narrowest circles, and in each the kinds. Both begin with what was updated longest ago."""
        self._members: dict[Circle, dict[Circle, None]] = {}
        """For each wider circle its groups. It begins with the one that was updated longest ago."""

    @classmethod
    def of(cls, record: tuple[StepTimesRecord, ...]) -> "Throughput":
        """What was learnt by the time of the record."""
        made = cls()
        for each in record:
            group = made._groups.setdefault(each.alike, {})
            group[each.gpu_type, GangSpread(each.spread)] = deque(each.step_ms, maxlen=STEP_WINDOW)
        for alike in made._groups:
            made._join(alike, _around(alike))
        return made

    def record(self) -> tuple[StepTimesRecord, ...]:
        """Everything learnt, the group that was updated longest ago first."""
        return tuple(
            StepTimesRecord(alike=alike, gpu_type=gpu_type, spread=spread.value, step_ms=tuple(steps))
            for alike, group in self._groups.items()
            for (gpu_type, spread), steps in group.items()
        )

    def learn(self, spec: JobSpec, gpu_type: GpuType, spread: GangSpread, step_ms: int) -> None:
        """A step of a job took this long. A step of no length is not a measurement, and is ignored."""
        if step_ms <= 0:
            return
        alike, *around = circles_of(spec)
        group = self._groups.pop(alike, None)
        if group is None:
            self._forget_oldest()
            group = {}
        kind = (gpu_type, spread)
        steps = group.pop(kind, None)
        if steps is None:
            if len(group) >= STEP_KINDS:
                del group[next(iter(group))]
            steps = deque(maxlen=STEP_WINDOW)
        steps.append(step_ms)
        group[kind] = steps
        self._groups[alike] = group
        self._join(alike, around)

    def speed_milli(self, spec: JobSpec, gpu_type: GpuType) -> int | None:
        """How fast jobs like this one are on a type, in thousandths of the fastest known; None if that is not known."""
        return dict(self.speeds(spec)).get(gpu_type)

    def speeds(self, spec: JobSpec) -> Speeds:
        """All known speeds for a job, of at least two types; empty while too little is known.

        They come from one circle, the narrowest that knows enough, so that they can be compared with each other. A type
        that is not in it should count as fast as the fastest: only a type that is tried can be learnt.
        """
        alike, *around = circles_of(spec)
        own = _speeds_in(self._groups.get(alike, {}))
        if own:
            return own
        for circle in around:
            members = self._members.get(circle, {})
            found = _agreed([table for member in members if (table := _speeds_in(self._groups[member]))])
            if found:
                return found
        return ()

    def spread_milli(self, spec: JobSpec, spread: GangSpread) -> int | None:
        """How fast jobs of exactly this group are at a spread, in thousandths of one node; None if that is not known.

        Wider circles are not asked: how much a model talks is its own.
        """
        steps = _medians(self._groups.get(circles_of(spec)[0], {}))
        parts = [
            steps[kind, GangSpread.NODE] * GPU_MILLI // steps[kind, spread]
            for kind, width in steps
            if width is GangSpread.NODE and (kind, spread) in steps
        ]
        return _rounded(_median(parts)) if parts else None

    def _join(self, alike: Circle, around: Iterable[Circle]) -> None:
        """Note that a group is the latest of the circles around it."""
        for circle in around:
            members = self._members.setdefault(circle, {})
            members.pop(alike, None)
            if len(members) >= STEP_MEMBERS:
                del members[next(iter(members))]
            members[alike] = None

    def _forget_oldest(self) -> None:
        """Keep memory bounded: drop the group that was updated longest ago, and circles that have no group left."""
        if len(self._groups) < STEP_CIRCLES:
            return
        oldest = next(iter(self._groups))
        del self._groups[oldest]
        for circle in _around(oldest):
            members = self._members.get(circle, {})
            members.pop(oldest, None)
            if not members:
                self._members.pop(circle, None)


def spread_of(workers: Placement, tree: Tree) -> GangSpread:
    """How far the workers of a placement are apart. Where no racks are known, several nodes are far apart."""
    nodes = [tree.nodes[tree.index_of[worker.node]] for worker in workers]
    if all(node.name == nodes[0].name for node in nodes):
        return GangSpread.NODE
    is_rack = bool(nodes[0].domains) and all(node.domains == nodes[0].domains for node in nodes)
    return GangSpread.RACK if is_rack else GangSpread.WIDER


def _around(alike: Circle) -> tuple[Circle, ...]:
    """The wider circles of a group, as `circles_of` makes them."""
    team, user, _, size = alike
    return ((team, user, size), (team, size), (size,), ())


def _speeds_in(group: dict[_Kind, deque[int]]) -> Speeds:
    """The speeds that a group has found, at the narrowest spread at which at least two types are known.

    Only equal spreads are compared. Otherwise a network would look like a slow GPU.
    """
    steps = _medians(group)
    for spread in GangSpread:
        known = sorted((gpu_type, median) for (gpu_type, width), median in steps.items() if width is spread)
        if len(known) > 1:
            fastest = min(median for _, median in known)
            return tuple((gpu_type, _rounded(fastest * GPU_MILLI // median)) for gpu_type, median in known)
    return ()


def _agreed(tables: list[Speeds]) -> Speeds:
    """The median of the speeds of several groups, among those that know the same types. Empty if too few do.

    Speeds are relative to the fastest type of their table, so tables of different types cannot be mixed.
    """
    counts = Counter(_types(table) for table in tables)
    enough = [types for types, count in counts.items() if count >= ENOUGH_GROUPS]
    if not enough:
        return ()
    types = max(enough, key=lambda each: (len(each), counts[each], each))
    same = [dict(table) for table in tables if _types(table) == types]
    return tuple((gpu_type, _rounded(_median([table[gpu_type] for table in same]))) for gpu_type in types)


def _types(table: Speeds) -> tuple[GpuType, ...]:
    return tuple(gpu_type for gpu_type, _ in table)


def _medians(group: dict[_Kind, deque[int]]) -> dict[_Kind, int]:
    return {kind: _median(steps) for kind, steps in group.items() if len(steps) >= ENOUGH_STEPS}


def _median(values: Iterable[int]) -> int:
    """The lower median: one of the values, so that an outlier never moves it far."""
    known = sorted(values)
    return known[(len(known) - 1) // 2]


def _rounded(speed_milli: int) -> int:
    """To the nearest step, and never 0: a job that stands still would count as one that never ends."""
    steps = (speed_milli + SPEED_STEP_MILLI // 2) // SPEED_STEP_MILLI
    return max(steps * SPEED_STEP_MILLI, SPEED_STEP_MILLI)
