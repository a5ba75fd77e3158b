import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Terminal
from tests.unit.client.fake_server import FakeServer, a_problem, a_running_job, an_ended_job, ends_as

JOB = "name: train\nrun: python train.py\nresources: {gpus: 2}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text(JOB, "utf-8")
    Path("bad.yaml").write_text("name: Train\nrun: x\nworkrs: 2\n", "utf-8")
    return tmp_path


def test_a_job_is_sent_with_the_folder_it_was_submitted_from(
    terminal: Terminal, server: FakeServer, folder: Path
) -> None:
    assert terminal.shows("submit", "job.yaml", "-q") == "job-1\n"
    (sent,) = server.bodies("POST", "/v1/jobs")
    assert sent["job"]["workdir"] == str(folder)
    assert sent["held"] is False


def test_several_files_and_standard_input_are_taken(terminal: Terminal) -> None:
    assert terminal.shows("submit", "job.yaml", "-", "job.yaml", "-q", input=JOB) == "job-1\njob-2\njob-3\n"


def test_standard_input_is_read_once(terminal: Terminal) -> None:
    assert terminal.type("submit", "-", "-", input=JOB).exit_code == 2


def test_nothing_is_sent_while_any_file_is_wrong(terminal: Terminal, server: FakeServer) -> None:
    result = terminal.type("submit", "job.yaml", "bad.yaml", "missing.yaml")
    assert result.exit_code == 2
    assert "bad.yaml:1: name: 'Train' is not a name for a job" in result.stderr
    assert "bad.yaml:3: workrs: unknown key (did you mean 'workers'?)" in result.stderr
    assert "missing.yaml: there is no such file" in result.stderr
    assert not server.requests


def test_the_command_line_overrides_the_file(terminal: Terminal, server: FakeServer) -> None:
    options = "--name other --team nlp --tier production --priority 9 --gpus 0.25 --workers 2..4 --held"
    terminal.shows("submit", "job.yaml", *options.split())
    (sent,) = server.bodies("POST", "/v1/jobs")
    job = sent["job"]
    assert [job[key] for key in ("name", "team", "tier", "priority", "workers")] == [
        "other",
        "nlp",
        "production",
        9,
        "2..4",
    ]
    assert job["resources"] == {"gpus": 0.25}
    assert sent["held"] is True


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--gpus 1.5", "--gpus: 1.5 GPUs: above one"),
        ("--workers none", "--workers: must be a number of workers"),
        ("--priority 101", "--priority"),
        ("-f job.yaml", "-f shows the output of one job"),
        ("--key a job.yaml", "--key is for one file"),
    ],
)
def test_a_wrong_option_is_named(terminal: Terminal, options: str, message: str) -> None:
    result = terminal.type("submit", "job.yaml", *options.split())
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_key_is_passed_on(terminal: Terminal, server: FakeServer) -> None:
    for _ in range(2):
        assert terminal.shows("submit", "job.yaml", "-q", "--key", "nightly") == "job-1\n"
    assert server.requests[0].headers["Idempotency-Key"] == "nightly"


def test_a_dry_run_says_where_and_what_it_costs(terminal: Terminal, server: FakeServer) -> None:
    text = terminal.shows("submit", "job.yaml", "--dry-run")
    assert text == (
        "train  job.yaml\nwould start now on n1 with 2 GPUs (0-1)\n  costs up to 4.0 GPU-h, 8.00 at list price\n"
        "  without max_duration: this is if it runs as long as its tier allows\n"
    )
    assert json.loads(terminal.shows("submit", "job.yaml", "--dry-run", "-o", "json"))["cost"]["gpu_hours"] == 4.0
    assert not server.jobs


def test_a_price_that_was_not_set_is_not_shown(terminal: Terminal, server: FakeServer) -> None:
    Path("job.yaml").write_text(f"{JOB}max_duration: 2h\n", "utf-8")
    server.answers["POST /v1/jobs"] = {"placement": None, "reasons": [], "cost": {"gpu_hours": 4.0, "price": None}}
    text = terminal.shows("submit", "job.yaml", "--dry-run")
    assert text == "train  job.yaml\nwould wait\n  costs up to 4.0 GPU-h\n"


def test_a_dry_run_says_what_would_be_refused(terminal: Terminal, server: FakeServer) -> None:
    server.failures = [a_problem(403, "never_fits", "no node has 64 GPUs")]
    result = terminal.type("submit", "job.yaml", "job.yaml", "--dry-run")
    assert result.exit_code == 3
    assert result.stdout.startswith(
        "train  job.yaml\nwould be refused: no node has 64 GPUs\ntrain  job.yaml\nwould start"
    )
    server.failures = [a_problem(403, "never_fits", "no node has 64 GPUs")]
    result = terminal.type("submit", "job.yaml", "--dry-run", "-o", "json")
    refused = {"code": "never_fits", "message": "no node has 64 GPUs"}
    assert (result.exit_code, json.loads(result.stdout)) == (3, {"refused": refused})


def test_what_the_server_finds_wrong_names_the_file(terminal: Terminal, server: FakeServer) -> None:
    wrong = [{"field": "team", "problem": "there is no such team"}]
    server.answers["POST /v1/jobs"] = a_problem(422, "invalid", "wrong", errors=wrong)
    result = terminal.type("submit", "job.yaml", "job.yaml")
    assert (result.exit_code, result.stderr) == (2, "muster: job.yaml: team: there is no such team\n")


def test_json_is_the_answer_of_the_server(terminal: Terminal, server: FakeServer) -> None:
    assert json.loads(terminal.shows("submit", "job.yaml", "-o", "json")) == server.jobs["job-1"]
    assert len(json.loads(terminal.shows("submit", "job.yaml", "job.yaml", "-o", "json"))) == 2


@pytest.mark.parametrize(("state", "code"), [("succeeded", 0), ("failed", 1), ("cancelled", 6), ("timed_out", 6)])
def test_the_exit_code_says_how_a_job_ended(terminal: Terminal, server: FakeServer, state: str, code: int) -> None:
    server.later = [lambda _: None, ends_as(state)]
    assert terminal.type("submit", "job.yaml", "--wait").exit_code == code


def test_a_followed_job_shows_its_output_attempt_after_attempt(terminal: Terminal, server: FakeServer) -> None:
    def start(each: FakeServer) -> None:
        each.jobs["job-1"] = a_running_job(attempt=1)
        each.logs["job-1", 0, 1] = b"first\n"

    def end(each: FakeServer) -> None:
        each.jobs["job-1"] = an_ended_job(state="failed", reason="oom", exit_code=137, attempt=3)
        each.logs["job-1", 0, 3] = b"third\n"

    server.later = [lambda _: None, start, end]
    result = terminal.type("submit", "job.yaml", "-f")
    assert (result.exit_code, result.stdout) == (1, "first\nthird\n")
    assert "job-1 is queued; `muster why job-1` says why" in result.stderr
    assert "job-1 has 1 worker on n1" in result.stderr
    assert "job-1 failed: out of memory, exit code 137" in result.stderr


def test_a_job_that_can_never_run_is_refused(terminal: Terminal, server: FakeServer) -> None:
    server.answers["POST /v1/jobs"] = a_problem(422, "never_fits", "no node has 64 GPUs")
    result = terminal.type("submit", "job.yaml")
    assert (result.exit_code, result.stderr) == (3, "muster: no node has 64 GPUs\n")


def test_what_was_submitted_before_a_refusal_is_named(terminal: Terminal, server: FakeServer) -> None:
    server.jobs_allowed = 1
    result = terminal.type("submit", "job.yaml", "job.yaml")
    assert result.exit_code == 3
    assert result.stderr == "muster: submitted before this went wrong: job-1\nmuster: job.yaml: no more jobs\n"


def test_the_job_file_can_be_printed_instead(terminal: Terminal, server: FakeServer, folder: Path) -> None:
    text = terminal.shows("submit", "job.yaml", "--print", "--name", "other", piped=True)
    assert text == (f"name: other\nworkers: 1\nresources: {{gpus: 2}}\nrun: python train.py\nworkdir: {folder}\n")
    assert not server.requests


def test_a_batch_script_is_submitted_as_a_job(terminal: Terminal, server: FakeServer) -> None:
    script = "#!/bin/sh\n#SBATCH -J old-one -p gpu --gpus=2 --hold\n#SBATCH -L matlab\necho hello\n"
    Path("old.sbatch").write_text(script, "utf-8")
    result = terminal.type("submit", "--sbatch", "old.sbatch", "--tier-of", "gpu=exploratory", "-q")
    assert (result.exit_code, result.stdout) == (0, "job-1\n")
    assert result.stderr == "muster: old.sbatch:3: --licenses is ignored: licences are not counted here\n"
    (sent,) = server.bodies("POST", "/v1/jobs")
    assert (sent["job"]["tier"], sent["job"]["run"], sent["held"]) == ("exploratory", script, True)


def test_a_wrong_batch_script_is_refused_with_its_line(terminal: Terminal, server: FakeServer) -> None:
    Path("old.sbatch").write_text("#!/bin/sh\n#SBATCH --account=a//b\necho hello\n", "utf-8")
    result = terminal.type("submit", "--sbatch", "old.sbatch")
    assert result.exit_code == 2
    assert result.stderr.startswith("muster: old.sbatch:2: team: 'a//b' is not the path of a team")
    assert not server.requests


def test_a_folder_in_a_batch_script_is_seen_from_here(terminal: Terminal, server: FakeServer, folder: Path) -> None:
    Path("old.sbatch").write_text("#!/bin/sh\n#SBATCH --chdir=runs/1\necho hello\n", "utf-8")
    terminal.shows("submit", "--sbatch", "old.sbatch", "-q")
    assert server.bodies("POST", "/v1/jobs")[0]["job"]["workdir"] == str(folder / "runs" / "1")
