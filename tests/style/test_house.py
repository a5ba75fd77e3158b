"""The tree shows the structure: packages say what is in them, and a name means one thing."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src" / "muster"
PACKAGES = sorted(path.parent for path in SOURCES.rglob("__init__.py"))

WIRE = ("answers", "api/schemas", "client/answers.py")
"""What is sent is called as people call it: a job there and a job of the model are two sides of one thing."""

FILES_MOST = 30
"""Modules and folders in one folder: more than that is a heap."""

UNNAMED = ("__init__", "py.typed")
RELEASED = "store/sql/migrations"
"""Its files are named by what they change, and read by their numbers."""


def name_of(package: Path) -> str:
    return str(package.relative_to(SOURCES.parent))


def parts_of(package: Path) -> Iterator[str]:
    """Names of what is in a package."""
    for path in sorted(package.iterdir()):
        is_package = path.is_dir() and (path / "__init__.py").exists()
        if is_package or (path.suffix == ".py" and path.stem not in UNNAMED):
            yield path.stem


def unnamed(package: Path) -> list[str]:
    """What is in a package and not in its docstring."""
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text("utf-8"))) or ""
    return [part for part in parts_of(package) if not re.search(rf"(?<![\w.]){part}(?!\w)", text)]


def defined_classes() -> dict[str, list[str]]:
    """Where each class is defined, outside of what is sent."""
    found = defaultdict(list)
    for path in sorted(SOURCES.rglob("*.py")):
        place = str(path.relative_to(SOURCES))
        if not place.startswith(WIRE):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.ClassDef):
                    found[node.name].append(place)
    return found


@pytest.mark.parametrize("package", PACKAGES, ids=name_of)
def test_the_first_screen_of_a_package_names_all_that_is_in_it(package: Path) -> None:
    if RELEASED not in str(package):
        assert unnamed(package) == []


@pytest.mark.parametrize("package", PACKAGES, ids=name_of)
def test_no_folder_is_a_heap(package: Path) -> None:
    assert len(list(parts_of(package))) <= FILES_MOST


def test_a_class_name_means_one_thing() -> None:
    assert {name: places for name, places in defined_classes().items() if len(places) > 1} == {}


def test_a_module_that_is_not_named_is_found(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text('"""A package.\n\n    known  what it is\n"""\n', "utf-8")
    for name in ("known.py", "unknown.py"):
        (tmp_path / name).touch()
    assert unnamed(tmp_path) == ["unknown"]
