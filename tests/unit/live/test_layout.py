"""The nodes that this machine is used as."""

from pathlib import Path
from typing import Any

import pytest

from muster.backends.local.inventory import Machine
from muster.formats.rules.server_file import ServerSettings, read_server_file
from muster.live.layout import WHOLE, Layout, claims, find_layout
from muster.model.node import ClusterSpec
from tests.builders import a_node

DESCRIBED = """
[cluster]
levels = ["rack"]
nodes = [{name = "n[1-2]", gpus = 4, gpu_type = "h100", cpus = 1000, rack = "r1"}]
"""


def settings_in(folder: Path, text: str) -> ServerSettings:
    (folder / "muster.toml").write_text(text, "utf-8")
    return read_server_file(folder / "muster.toml")


def found(folder: Path, text: str = "", given: str | None = None) -> Layout:
    return find_layout(folder, settings_in(folder, text), given)


def test_the_command_line_goes_before_the_configuration_and_both_before_the_last_time(tmp_path: Path) -> None:
    assert found(tmp_path).text == WHOLE
    assert len(found(tmp_path).cluster.nodes) == 1
    found(tmp_path, given="3x2").keep(tmp_path)
    assert len(found(tmp_path).cluster.nodes) == 3
    assert len(found(tmp_path, "[local]\nnodes = '2x2'").cluster.nodes) == 2
    assert len(found(tmp_path, "[local]\nnodes = '2x2'", given="1x1").cluster.nodes) == 1
    over = found(tmp_path, DESCRIBED, given="1x1")
    assert (len(over.cluster.nodes), over.notes) == (1, ("--nodes counts, and not [cluster] of the configuration",))


def test_beside_an_engine_with_nodes_of_its_own_this_machine_takes_part_if_it_is_named(tmp_path: Path) -> None:
    slurm = "[[engines]]\nname = 'hpc'\nkind = 'slurm'\npartition = 'train'\n"
    here = "[[engines]]\nname = 'local'\nkind = 'local'\n"
    assert found(tmp_path, slurm).cluster.nodes == ()
    assert [node.engine for node in found(tmp_path, slurm + here).cluster.nodes] == ["local"]
    assert found(tmp_path, here).text == WHOLE


def test_a_described_cluster_is_found_again_without_its_file(tmp_path: Path) -> None:
    described = found(tmp_path, DESCRIBED)
    assert described.is_shared
    assert described.cluster.levels == ("rack",)
    described.keep(tmp_path)
    assert found(tmp_path).cluster == described.cluster


def test_a_layout_that_cannot_be_kept_does_not_prevent_the_start(tmp_path: Path) -> None:
    (tmp_path / "layout").mkdir()
    Layout(cluster=ClusterSpec(), text=WHOLE).keep(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_parts_of_a_cluster_file_that_do_not_count_are_named(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text("{cluster: 2x8, teams: {nlp: {}}}", "utf-8")
    layout = found(tmp_path, "[cluster]\nfile = 'cluster.yaml'\n")
    assert [note.partition(": ")[0] for note in layout.notes] == [f"{tmp_path}/cluster.yaml also has teams"]


@pytest.mark.parametrize(
    ("cpus", "memory_gib", "said"),
    [
        (None, None, ""),
        (2, 8, ""),
        (8, 8, "the described nodes have 16 CPUs together and this machine has 4: "),
        (1, 16, "the described nodes have 32 GiB of memory together and this machine has 16: "),
    ],
)
def test_nodes_that_are_said_to_have_more_than_this_machine_are_told(
    cpus: int | None, memory_gib: int | None, said: str
) -> None:
    has: dict[str, Any] = {} if cpus is None or memory_gib is None else {"cpus": cpus, "memory_bytes": memory_gib << 30}
    nodes = tuple(a_node(name, **has) for name in ("n1", "n2"))
    machine = Machine(name="here", cpus=4, memory_bytes=16 << 30, disk_bytes=1 << 40)
    assert "".join(claims(ClusterSpec(nodes=nodes), machine)).startswith(said)
    assert bool(claims(ClusterSpec(nodes=nodes), machine)) == bool(said)
