"""The demo tells its story to the end and leaves nothing behind."""

import os
import subprocess
from pathlib import Path

from tests.e2e.conftest import MUSTER


def test_the_demo_runs_its_story_and_leaves_nothing_behind(tmp_path: Path) -> None:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MUSTER_")}
    done = subprocess.run(
        [*MUSTER, "demo", "--no-stay"],
        env={**kept, "TMPDIR": str(tmp_path), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ended = {line.split()[1]: line for line in done.stdout.splitlines() if line.startswith("job-")}
    assert "succeeded" in ended["pretrain"]
    assert "12/12 ended" in ended["sweep"]
    assert "exit code 3" in ended["broken"]
    assert "succeeded" in ended["retrain"]
    assert "was preempted 1 time and lost a node 1 time, and went on where it had saved itself" in done.stdout
    assert done.stdout.count("↻") >= 3, "the curve marks both resumes, and a line says what the mark means"
    assert list(tmp_path.glob("muster-demo-*")) == []
    after = done.stdout.partition("went on where it had saved itself")[2]
    assert "`muster up -d --nodes 4x8` starts one that stays" in after
    assert str(tmp_path) not in after, "what is gone is not pointed to"
    assert not _processes_that_mention(str(tmp_path))


def _processes_that_mention(text: str) -> list[str]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and int(folder.name) != os.getpid():
            try:
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
    return [each for each in found if text in each]
