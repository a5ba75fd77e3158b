"""Groups are found and used in either version of the kernel's interface; here in folders that only look like them."""

from pathlib import Path

from muster.worker.processes.cgroups import (
    CPU,
    FREEZER,
    MEMORY,
    PIDS,
    UNIFIED,
    Allowance,
    CgroupRoot,
    find_cgroup_root,
    make_cgroup,
    own_groups,
)

MOUNTS = """\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
33 31 0:30 /docker/abc /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
34 31 0:31 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
35 31 0:32 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd
"""
MEMBERSHIPS = """\
4:memory:/docker/abc/inner
3:cpu,cpuacct:/slice
1:name=systemd:/init.scope
0::/user.slice
"""


def test_the_own_groups_are_found_below_where_they_are_mounted() -> None:
    found = own_groups(MOUNTS, MEMBERSHIPS)
    assert found[MEMORY] == Path("/sys/fs/cgroup/memory/inner")
    assert found[CPU] == Path("/sys/fs/cgroup/cpu,cpuacct/slice")
    assert found[UNIFIED] == Path("/sys/fs/cgroup/unified/user.slice")
    assert PIDS not in found


def a_cgroup_root(folder: Path, *controllers: str, unified: frozenset[str] = frozenset()) -> CgroupRoot:
    folders = {each: folder / (each or "unified") for each in controllers}
    for each in folders.values():
        each.mkdir(parents=True)
    return CgroupRoot(folders=folders, unified_controllers=unified)


def written(cgroup_root: CgroupRoot, key: str, name: str) -> dict[str, str]:
    return {file.name: file.read_text() for file in (cgroup_root.folders[key] / name).iterdir()}


LIMITS = Allowance(memory_bytes=1 << 30, cpu_milli=1500, processes=100)


def test_version_1_has_a_group_per_controller_that_is_asked_for(tmp_path: Path) -> None:
    cgroup_root = a_cgroup_root(tmp_path, MEMORY, CPU, PIDS, FREEZER, UNIFIED)
    group = make_cgroup(cgroup_root, "w", LIMITS)
    assert written(cgroup_root, MEMORY, "w") == {"memory.limit_in_bytes": str(1 << 30)}
    assert written(cgroup_root, CPU, "w") == {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "150000"}
    assert written(cgroup_root, PIDS, "w") == {"pids.max": "100"}
    assert group.folders[0] == str(cgroup_root.folders[PIDS] / "w")
    assert len(group.entrances) == 3
    assert cgroup_root.kind == "cgroup1"
    assert make_cgroup(cgroup_root, "x", Allowance()).folders == (str(cgroup_root.folders[UNIFIED] / "x"),)


def test_version_2_has_one_group_for_everything(tmp_path: Path) -> None:
    cgroup_root = a_cgroup_root(tmp_path, UNIFIED, unified=frozenset((MEMORY, CPU, PIDS)))
    group = make_cgroup(cgroup_root, "w", LIMITS)
    assert written(cgroup_root, UNIFIED, "w") == {
        "memory.max": str(1 << 30),
        "memory.oom.group": "1",
        "cpu.max": "150000 100000",
        "pids.max": "100",
    }
    assert len(group.folders) == 1
    assert (cgroup_root.kind, cgroup_root.limits(CPU)) == ("cgroup2", True)


def test_where_nothing_can_be_written_there_are_no_groups(tmp_path: Path) -> None:
    mounts = f"1 1 0:1 / {tmp_path / 'missing'} rw - cgroup2 cgroup2 rw\n"
    cgroup_root = find_cgroup_root("muster", mounts=mounts, memberships="0::/\n")
    assert (dict(cgroup_root.folders), cgroup_root.kind, cgroup_root.limits(MEMORY)) == ({}, "none", False)
    assert dict(find_cgroup_root("muster", mounts="", memberships="").folders) == {}


def test_running_out_of_memory_is_read_from_either_version(tmp_path: Path) -> None:
    for number, (file, text) in enumerate(
        [("memory.events", "low 0\noom 3\noom_kill 1\n"), ("memory.oom_control", "under_oom 0\noom_kill 2\n")]
    ):
        cgroup_root = a_cgroup_root(tmp_path / str(number), MEMORY)
        group = make_cgroup(cgroup_root, "w", LIMITS)
        assert not group.ran_out_of_memory()
        (cgroup_root.folders[MEMORY] / "w" / file).write_text(text)
        assert group.ran_out_of_memory()
