"""What runs is what was submitted, whatever is edited later: everything is real, from the command to the process."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import Shell
from tests.unit.client.bundles.checkouts import checkout


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a training and its job file."""
    folder = tmp_path / "code"
    job = {"name": "train", "workdir": "..", "run": "sh ./train.sh"}
    checkout(folder, jobs__train_json=json.dumps(job))
    (folder / "train.sh").write_text("echo committed\n")
    subprocess.run(["git", "-C", folder, "add", "train.sh"], check=True)
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", "-C", folder, *identity, "commit", "-qm", "two"], check=True)
    (folder / "train.sh").write_text("echo as submitted; pwd\n")
    monkeypatch.chdir(tmp_path)
    return folder


def test_a_file_that_is_edited_between_submission_and_start_runs_as_it_was(shell: Shell, code: Path) -> None:
    job = shell.says("submit", "--held", "-q", str(code / "jobs/train_json")).strip()
    (code / "train.sh").write_text("echo edited later\n")
    shell.says("release", job)
    shell.says("wait", job, "--timeout", "60s")
    first, place = shell.says("logs", job).split("\n")[:2]
    assert first == "as submitted"
    assert place != str(code)
    assert not Path(place).exists()
    shown = shell.says("show", job)
    commit = subprocess.run(["git", "-C", code, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout
    assert "2 files as submitted, bundle " in shown
    assert f"commit {commit[:12]} with changes" in shown
    difference = shell.says("show", "--diff", job)
    assert "-echo committed\n+echo as submitted; pwd\n" in difference
    document = json.loads(shell.says("show", "-o", "json", job))
    assert (document["bundle"]["commit"], document["bundle"]["dirty"]) == (commit.strip(), True)
    assert document["bundle"]["diff"] == difference.removesuffix("\n")
    again = shell.says("retry", "-q", job).strip()
    shell.says("wait", again, "--timeout", "60s")
    assert shell.says("logs", again).startswith("as submitted\n")


def test_a_command_runs_in_a_copy_of_the_current_folder_if_it_is_asked_to(
    shell: Shell, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(code)
    assert shell.says("run", "--", "pwd") == f"{code}\n"
    copied = shell.says("run", "--workdir", ".", "--", "sh", "-c", "sh ./train.sh; echo changed >train.sh")
    assert copied.startswith("as submitted\n/")
    assert (code / "train.sh").read_text() == "echo as submitted; pwd\n"


def test_what_cannot_be_copied_is_said_before_anything_is_sent(shell: Shell, code: Path) -> None:
    file = code / "jobs/train_json"
    file.write_text(json.dumps({"name": "train", "run": "x", "workdir": "nowhere"}))
    refused = shell.type("submit", str(file))
    assert refused.exit_code == 2
    assert f"workdir: there is no folder {code}/jobs/nowhere" in refused.stderr
    file.write_text(json.dumps({"name": "train", "run": "x", "workdir": ".", "checkpoint": {"path": "saved"}}))
    refused = shell.type("submit", str(file))
    assert refused.exit_code == 2
    assert "relative to a workdir whose copy is removed when the job ends" in refused.stderr
    assert shell.says("submit", "--dry-run", str(_plain(file))).startswith("train")


def _plain(file: Path) -> Path:
    file.write_text(json.dumps({"name": "train", "run": "x", "workdir": "."}))
    return file
