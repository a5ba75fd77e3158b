"""The import contracts catch what they are there for: each is shown a small package that breaks it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINTER = Path(sys.executable).with_name("lint-imports")
PACKAGES = (
    *("model", "answers", "core", "checker", "formats", "store", "backends"),
    *("engine", "sim", "live", "api", "cli"),
    *("core/cluster", "core/order", "core/planning", "core/explaining", "core/lifecycle"),
)


def lint(tree: Path, *, importer: str, imported: str) -> subprocess.CompletedProcess[str]:
    """Lint a package with the project's own contracts, in which one module imports another."""
    shutil.copy(ROOT / "pyproject.toml", tree)
    for package in PACKAGES:
        folder = tree / "muster" / package
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
    (tree / "muster" / "__init__.py").touch()
    (tree / "muster" / "model" / "records.py").write_text("import msgspec\n", "utf-8")
    (tree / "muster" / importer / "planted.py").write_text(f"import {imported}\n", "utf-8")
    return subprocess.run([LINTER, "--no-cache"], cwd=tree, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("model", "muster.core"),
        ("model", "pydantic"),
        ("model", "msgspec"),
        ("core", "muster.engine"),
        ("core", "muster.checker"),
        ("core", "yaml"),
        ("core", "msgspec"),
        ("answers", "pydantic"),
        ("answers", "muster.core"),
        ("checker", "muster.core"),
        ("formats", "muster.core"),
        ("store", "muster.backends"),
        ("engine", "muster.cli"),
        ("api", "muster.sim"),
        ("core/cluster", "muster.core.order"),
        ("core/order", "muster.core.planning"),
        ("core/planning", "muster.core.explaining"),
        ("core/planning", "muster.core.lifecycle"),
    ],
)
def test_a_planted_import_breaks_a_contract(tmp_path: Path, importer: str, imported: str) -> None:
    outcome = lint(tmp_path, importer=importer, imported=imported)
    assert outcome.returncode == 1
    assert f"muster.{importer.replace('/', '.')}.planted -> {imported}" in outcome.stdout


def test_imports_that_point_down_are_kept(tmp_path: Path) -> None:
    outcome = lint(tmp_path, importer="engine", imported="muster.core, muster.formats, muster.model, yaml")
    assert outcome.returncode == 0, outcome.stdout
