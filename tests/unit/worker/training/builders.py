"""Small words for what a supervisor does for training."""

from pathlib import Path

from muster.model.ids import NodeName
from muster.worker.launch.launch_spec import LaunchSpec, NodeContext
from muster.worker.processes.cgroups import CgroupRoot


def a_node(home: Path) -> NodeContext:
    return NodeContext(
        home=home,
        workers=home / "workers",
        node=NodeName("n1"),
        cgroup_root=CgroupRoot(),
        processes_max=10,
        variables={},
    )


def a_launch_spec(
    folder: Path, variables: dict[str, str] | None = None, *, secrets: tuple[str, ...] = (), is_lead: bool = True
) -> LaunchSpec:
    return LaunchSpec(
        command=[],
        variables=variables or {},
        secrets=secrets,
        folder=folder,
        notice=folder / "notice",
        ask=folder / "ask",
        told=folder / "told",
        boards=folder / "boards",
        cgroup=None,
        grace_ms=1,
        idle_timeout_ms=None,
        is_lead=is_lead,
        tells_saves=is_lead,
    )
