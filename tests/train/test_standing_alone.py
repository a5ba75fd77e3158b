"""Training images have an older Python, and nothing of Muster but this package."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "muster" / "train"
MODULES = sorted(SOURCE.rglob("*.py"))
OPTIONAL = ("torch", "numpy", "fsspec", "lightning", "transformers")

PROGRAM = """
import sys
from muster.train import Checkpointer, Shard
import muster.train.uploader, muster.train.store.inventory
with Checkpointer(sys.argv[1], every=1) as checkpoints:
    state = {"epoch": 0}
    step = checkpoints.restore(state)
    for step in range(step + 1, step + 3):
        state["epoch"] = step
        assert checkpoints.step(step, state, loss=0.5)
print(checkpoints.last, *sorted(set(sys.modules) & {"torch", "numpy", "fsspec", "muster.model"}))
"""


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_module_can_be_read_by_python_3_10(module: Path) -> None:
    ast.parse(module.read_text("utf-8"), feature_version=(3, 10))


def test_it_runs_alone_with_the_standard_library_only(tmp_path: Path) -> None:
    shutil.copytree(SOURCE, tmp_path / "path" / "muster" / "train")
    said = []
    for _ in range(2):
        command = [sys.executable, "-S", "-c", PROGRAM, str(tmp_path / "ck")]
        around = {"PYTHONPATH": str(tmp_path / "path"), "PATH": ""}
        said.append(subprocess.run(command, env=around, check=True, capture_output=True, text=True).stdout)
    assert said == ["2\n", "4\n"]


def test_nothing_else_of_muster_is_imported() -> None:
    imported = [
        alias.name if isinstance(node, ast.Import) else str(node.module)
        for module in MODULES
        for node in ast.walk(ast.parse(module.read_text("utf-8")))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    ]
    assert [name for name in imported if name.startswith("muster") and not name.startswith("muster.train")] == []
    assert [name for name in imported if name.split(".")[0] in OPTIONAL] == []
