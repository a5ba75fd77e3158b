"""What a machine may lack, so that a test cannot run there: the only reason for which one is skipped.

`needs("mounting")` looks whether the machine can, and skips the test where it cannot. With `--strict-skips`, as in
`make test`, every other skip is a failure: one that names nothing, or something that is there. What was skipped for
want of what stands in the summary.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path

import pytest

CGROUPS = Path("/sys/fs/cgroup")
PREFIX = "this machine lacks "
_NAMED = re.compile(rf"{PREFIX}(?P<name>[a-z ]+)$")


def needs(capability: str) -> None:
    """Go on where the machine has this; else skip the test, and say for want of what."""
    if not is_there(capability):
        pytest.skip(f"{PREFIX}{capability}")


@cache
def is_there(capability: str) -> bool:
    """Look whether the machine has it, without asking the code under test."""
    return CAPABILITIES[capability]()


def _mounting() -> bool:
    """Mount a small file system, and take it away again."""
    with tempfile.TemporaryDirectory(prefix="muster-can-mount-") as folder:
        mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]
        if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            return False
        subprocess.run(["umount", "-l", folder], check=True)
        return True


def _compiler() -> bool:
    return shutil.which("cc") is not None


def _containers() -> bool:
    """Programs for containers, and a machine where their file systems can be mounted."""
    return all(shutil.which(program) for program in ("podman", "runc")) and is_there("mounting")


def _limits(controller: str, *files: str) -> bool:
    """Make a group below the one that this process is in, and see whether it has a file to write the limit into."""
    for line in Path("/proc/self/cgroup").read_text("utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == controller:
            found = _group_has(CGROUPS / controller / path.lstrip("/"), files)
        elif not controllers:
            roots = [root for root in (CGROUPS, CGROUPS / "unified") if (root / "cgroup.controllers").exists()]
            found = any(_turned_on(root / path.lstrip("/"), controller, files) for root in roots)
        else:
            continue
        if found:
            return True
    return False


def _turned_on(group: Path, controller: str, files: tuple[str, ...]) -> bool:
    try:
        (group / "cgroup.subtree_control").write_text(f"+{controller}")
    except OSError:
        return False
    return _group_has(group, files)


def _group_has(parent: Path, files: tuple[str, ...]) -> bool:
    group = parent / f"muster-can-limit-{os.getpid()}"
    try:
        group.mkdir()
    except OSError:
        return False
    try:
        return any(os.access(group / file, os.W_OK) for file in files)
    finally:
        group.rmdir()


CAPABILITIES: dict[str, Callable[[], bool]] = {
    "mounting": _mounting,
    "a compiler": _compiler,
    "containers": _containers,
    "limits of processes": lambda: _limits("pids", "pids.max"),
    "limits of processors": lambda: _limits("cpu", "cpu.max", "cpu.cfs_quota_us"),
}
"""By name, how to find out whether it is there."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--strict-skips", action="store_true", help="Fail what is skipped for another reason than what is lacking here."
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        _judge(report, item.config)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if report.skipped:
        _judge(report, collector.config)
    return report


def _judge(report: pytest.TestReport | pytest.CollectReport, config: pytest.Config) -> None:
    """Make a failure of a skip that nothing excuses."""
    problem = unexcused(reason_of(report))
    if problem and config.getoption("--strict-skips"):
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} was skipped: {problem}"


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why something was skipped."""
    told = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr or "")
    return told.removeprefix("Skipped: ")


def unexcused(reason: str) -> str:
    """What is wrong with a reason for a skip; empty when the machine really lacks what it names."""
    named = _NAMED.match(reason)
    if named is None or named["name"] not in CAPABILITIES:
        return f"{reason!r} is not among what a machine may lack; see tests/capabilities.py"
    return f"this machine does not lack {named['name']}" if is_there(named["name"]) else ""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    for reason, count in sorted(Counter(reason_of(report) for report in skipped).items()):
        terminalreporter.write_line(f"skipped {count} test{'s' * (count != 1)}: {reason}", yellow=True)
