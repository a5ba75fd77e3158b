"""Control groups: limits for a worker, and the surest way to know everything it started.

Groups are made below the supervisor's own group, so that whatever limits the supervisor limits its workers too. Both
versions of the kernel's interface are used as they are found, also side by side. A limit that cannot be set is left
out, and `CgroupRoot` says so.
"""

import contextlib
import os
import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

MEMORY, CPU, PIDS, FREEZER, UNIFIED = "memory", "cpu", "pids", "freezer", ""
"""Controllers by their names; version 2 has one tree for all of them."""

CPU_PERIOD_US = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupRoot:
    """Where groups can be made on this machine."""

    folders: Mapping[str, Path] = field(default_factory=dict)
    """By controller of version 1, and `UNIFIED` for version 2: the folder below which workers get their groups."""
    unified_controllers: frozenset[str] = frozenset()
    """What version 2 can limit here."""

    @property
    def kind(self) -> str:
        """How memory is limited: by which version of control groups, or by none."""
        if MEMORY in self.unified_controllers:
            return "cgroup2"
        return "cgroup1" if MEMORY in self.folders else "none"

    def remove(self) -> None:
        """Remove the folders that have nothing left below them."""
        for folder in self.folders.values():
            with contextlib.suppress(OSError):
                folder.rmdir()

    def limits(self, controller: str) -> bool:
        """True when this resource can be limited."""
        return controller in self.unified_controllers or controller in self.folders


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What a worker may use; None means as much as there is."""

    memory_bytes: int | None = None
    cpu_milli: int | None = None
    processes: int | None = None


def find_cgroup_root(
    name: str,
    *,
    mounts: str | None = None,
    memberships: str | None = None,
) -> CgroupRoot:
    """Make the folder `name` below the group of this process, in every tree of groups where it may."""
    parents = own_groups(
        Path("/proc/self/mountinfo").read_text() if mounts is None else mounts,
        Path("/proc/self/cgroup").read_text() if memberships is None else memberships,
    )
    wanted = {key: parents[key] / name for key in (UNIFIED, MEMORY, CPU, PIDS, FREEZER) if key in parents}
    folders = {key: folder for key, folder in wanted.items() if _made(folder)}
    unified: frozenset[str] = frozenset()
    if UNIFIED in folders:
        unified = _delegated(folders[UNIFIED])
    # A controller belongs to one version at a time. Where both name it, version 2 has it.
    return CgroupRoot(
        folders={key: each for key, each in folders.items() if key not in unified}, unified_controllers=unified
    )


def own_groups(mounts: str, memberships: str) -> dict[str, Path]:
    """By controller, the folder of the group that this process is in."""
    roots = dict(_mounted(mounts))
    found = {}
    for membership in memberships.splitlines():
        _, controllers, path = membership.split(":", 2)
        for controller in controllers.split(","):
            if controller in roots:
                inner, point = roots[controller]
                # Inside a container the tree may be mounted from somewhere below its root.
                found[controller] = point / path.removeprefix(inner.rstrip("/")).lstrip("/")
    return found


def _mounted(mounts: str) -> Iterable[tuple[str, tuple[str, Path]]]:
    for mount in mounts.splitlines():
        before, _, after = mount.partition(" - ")
        fields, kind = before.split(), after.split()
        if kind[:1] == ["cgroup2"]:
            yield UNIFIED, (fields[3], Path(fields[4]))
        elif kind[:1] == ["cgroup"]:
            for option in kind[2].split(","):
                yield option, (fields[3], Path(fields[4]))


def _made(folder: Path) -> bool:
    try:
        folder.mkdir(exist_ok=True)
    except OSError:
        return False
    return os.access(folder / "cgroup.procs", os.W_OK)


def _delegated(folder: Path) -> frozenset[str]:
    """The controllers of version 2 that can be turned on for groups below this folder."""
    wanted = (MEMORY, CPU, PIDS)
    for group in (folder.parent, folder):
        for controller in wanted:
            # Refused where the group has its own processes, or belongs to another user: then there is no such limit.
            with contextlib.suppress(OSError):
                (group / "cgroup.subtree_control").write_text(f"+{controller}")
    try:
        enabled = (folder / "cgroup.subtree_control").read_text().split()
    except OSError:
        enabled = []
    return frozenset(each for each in enabled if each in wanted)


def make_cgroup(cgroup_root: CgroupRoot, name: str, allowance: Allowance) -> "Cgroup":
    """Make the groups of one worker, with its limits."""
    settings = _settings(cgroup_root, allowance)
    # The first group tracks all processes of the worker. Entering a group is expensive, so one that is needed anyway is
    # preferred. UNIFIED, FREEZER and PIDS can each keep processes from forking while they are killed.
    known = (*(key for key in settings if key in (UNIFIED, PIDS)), UNIFIED, FREEZER, PIDS, MEMORY, CPU)
    tracking = next(key for key in known if key in cgroup_root.folders)
    folders = []
    for key in dict.fromkeys((tracking, *settings)):
        folder = cgroup_root.folders[key] / name
        folder.mkdir(exist_ok=True)
        folders.append(str(folder))
        for file, value in settings.get(key, ()):
            (folder / file).write_text(value)
    return Cgroup(folders)


class Cgroup:
    """The groups of one worker, which may have none."""

    def __init__(self, folders: Iterable[str]) -> None:
        self._folders = tuple(Path(folder) for folder in folders)
        self._tracking = self._folders[0] if self._folders else None

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders of the groups, first the one that is used to kill."""
        return tuple(str(folder) for folder in self._folders)

    @property
    def entrances(self) -> tuple[str, ...]:
        """The files that a process writes to when it enters."""
        return tuple(f"{folder}/cgroup.procs" for folder in self._folders)

    def members(self) -> list[int]:
        """The processes inside. Version 1 also lists processes that only wait to be reaped."""
        if self._tracking is None:
            return []
        try:
            with open(self._tracking / "cgroup.procs", "rb") as file:
                return [int(pid) for pid in file.read().split()]
        except OSError:
            return []

    def kill(self) -> None:
        """Kill everything inside at once. Nothing can escape by forking."""
        if self._tracking is None:
            return
        if _written(self._tracking / "cgroup.kill", "1"):
            return
        self._freeze()
        for pid in self.members():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._thaw()

    def _freeze(self) -> None:
        """Keep what is inside from forking, in the way that this group supports."""
        for file, value in (("pids.max", "0"), ("cgroup.freeze", "1"), ("freezer.state", "FROZEN")):
            if self._tracking is not None and _written(self._tracking / file, value):
                return

    def _thaw(self) -> None:
        """Let what was killed while frozen die. A limit on forks may stay."""
        for file, value in (("cgroup.freeze", "0"), ("freezer.state", "THAWED")):
            if self._tracking is not None and _written(self._tracking / file, value):
                return

    def ran_out_of_memory(self) -> bool:
        """True when the kernel has killed something inside because it ran out of memory."""
        for folder in self._folders:
            for file in ("memory.events", "memory.oom_control"):
                if _counter(folder / file, "oom_kill") > 0:
                    return True
        return False

    def remove(self) -> None:
        """Remove the groups, which must be empty."""
        for folder in self._folders:
            with contextlib.suppress(OSError):
                folder.rmdir()


def _settings(cgroup_root: CgroupRoot, allowance: Allowance) -> dict[str, list[tuple[str, str]]]:
    """By tree, the files and the values to write to them."""
    asked = (
        (MEMORY, allowance.memory_bytes, _memory_1, _memory_2),
        (CPU, allowance.cpu_milli, _cpu_1, _cpu_2),
        (PIDS, allowance.processes, _pids, _pids),
    )
    settings: dict[str, list[tuple[str, str]]] = {}
    for controller, amount, version_1, version_2 in asked:
        if amount is None:
            continue
        if controller in cgroup_root.unified_controllers:
            settings.setdefault(UNIFIED, []).extend(version_2(amount))
        elif controller in cgroup_root.folders:
            settings.setdefault(controller, []).extend(version_1(amount))
    return settings


def _memory_1(amount: int) -> list[tuple[str, str]]:
    return [("memory.limit_in_bytes", str(amount))]


def _memory_2(amount: int) -> list[tuple[str, str]]:
    # A worker without one of its processes is broken. It is better to kill all of it, for a clear end.
    return [("memory.max", str(amount)), ("memory.oom.group", "1")]


def _cpu_1(milli: int) -> list[tuple[str, str]]:
    return [("cpu.cfs_period_us", str(CPU_PERIOD_US)), ("cpu.cfs_quota_us", str(_quota_us(milli)))]


def _cpu_2(milli: int) -> list[tuple[str, str]]:
    return [("cpu.max", f"{_quota_us(milli)} {CPU_PERIOD_US}")]


def _quota_us(milli: int) -> int:
    """CPU time per period. The kernel takes no less than a millisecond."""
    return max(milli * CPU_PERIOD_US // 1000, 1000)


def _pids(amount: int) -> list[tuple[str, str]]:
    return [("pids.max", str(amount))]


def _written(file: Path, value: str) -> bool:
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CLOEXEC)  # never creates a file
        try:
            os.write(handle, value.encode())
        finally:
            os.close(handle)
    except OSError:
        return False
    return True


def _counter(file: Path, name: str) -> int:
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.split()[:1] == [name]), 0)
