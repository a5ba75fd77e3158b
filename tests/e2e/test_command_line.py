"""A day with the command line: everything is real, from the submission to the process on the node."""

import json
import os
import pty
import shlex
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.client import Client
from tests.e2e.conftest import DEADLINE_S, MUSTER, Shell, eventually


@pytest.fixture(autouse=True)
def folder(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that commands are typed in; what a test leaves behind does not stand in the way of the next."""
    monkeypatch.chdir(shell.folder)
    yield shell.folder
    if left := shell.says("ps", "-q").split():
        shell.says("cancel", *left)
        shell.type("wait", *left, "--timeout", "60s")


def job_file(folder: Path, name: str, run: str, **more: object) -> str:
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"name": name, "run": run, **more}), "utf-8")
    return str(path)


def submitted(shell: Shell, folder: Path, name: str, run: str, **more: object) -> str:
    return shell.says("submit", job_file(folder, name, run, **more), "-q").strip()


def test_a_server_that_is_up_can_be_found_and_its_secrets_are_private(shell: Shell) -> None:
    record = json.loads((shell.home / "server.json").read_text("utf-8"))
    assert record["url"].startswith("http://127.0.0.1:")
    for name in ("token", "server.json", "server.log", "server.out"):
        assert stat.S_IMODE((shell.home / name).stat().st_mode) == 0o600, name
    assert all(json.loads(line) for line in (shell.home / "server.log").read_text("utf-8").splitlines())
    assert "was running already" in shell.run("up", "-d").stdout
    assert [node.split()[1:3] for node in shell.says("nodes").splitlines()[1:3]] == [["ready", "····"]] * 2


def test_a_command_runs_and_its_fate_is_the_exit_code(shell: Shell) -> None:
    assert shell.says("run", "--gpus", "2", "--", "sh", "-c", "echo hello from $MUSTER_GPUS") == "hello from 0,1\n"
    failed = shell.type("run", "--", "sh", "-c", "echo oops >&2; exit 3")
    assert (failed.exit_code, failed.stdout) == (3, "oops\n")
    assert "failed: an error, exit code 3" in failed.stderr
    by_rank = shell.type("run", "--workers", "2", "--", "sh", "-c", "sleep $MUSTER_RANK; exit $((40 + MUSTER_RANK))")
    assert by_rank.exit_code in (40, 41)
    assert "only rank 0 is shown" in by_rank.stderr
    assert shell.type("run", "--", "sh", "-c", "kill -USR1 $$").exit_code == 128 + signal.SIGUSR1


def test_a_command_reads_what_comes_through_a_pipe_and_reads_it_again_when_it_starts_again(shell: Shell) -> None:
    def run(text: str, *words: str) -> str:
        done = subprocess.run(
            [*MUSTER, "run", "--", *words],
            env=shell.environment,
            cwd=shell.folder,
            input=text,
            text=True,
            capture_output=True,
            timeout=DEADLINE_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("hello\n", "cat") == "hello\n"
    assert run("word\n" * 100_000, "wc -w").split() == ["100000"]
    assert run("y\n" * 1_000_000, "true") == ""
    again = f"cat; [ $MUSTER_ATTEMPT -gt 1 ] || {{ {shlex.join(MUSTER)} requeue $MUSTER_JOB; sleep 60; }}"
    assert [line for line in run("hello\n", again).splitlines() if line == "hello"] == ["hello", "hello"]


def test_a_command_runs_beside_a_worker(shell: Shell, folder: Path) -> None:
    file = job_file(folder, "beside", "sleep 600", workers=2, resources={"gpus": 1}, env={"WORD": "hello"})
    job = shell.says("submit", file, "-q").strip()
    eventually(lambda: shell.is_in(job, "running"), what="the gang runs")
    line = "read given; echo $given $WORD $MUSTER_RANK of $MUSTER_GPUS in $PWD; exit 9"
    with shell.begin("exec", job, "--rank", "1", "--", line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        said, _ = running.communicate("typed\n", timeout=60)
    assert (running.returncode, said.split()[:3], said.split()[-1]) == (9, ["typed", "hello", "1"], str(folder))
    assert shell.type("exec", job, "-t", "--", "true").exit_code == 2
    assert "jobs.exec" in shell.says("audit")
    shell.says("cancel", job)
    shell.says("wait", job, code=6)
    late = shell.type("exec", job, "--", "true")
    assert (late.exit_code, "beside a worker" in late.stderr) == (3, True)


def test_a_gang_is_followed_and_looked_at(shell: Shell, folder: Path) -> None:
    file = job_file(folder, "gang", "echo rank $MUSTER_RANK of $MUSTER_WORLD in $PWD", workers=2, resources={"gpus": 4})
    assert "would start now on n[1-2] with 8 GPUs" in shell.says("submit", file, "--dry-run")
    assert shell.says("submit", file, "-f") == f"rank 0 of 2 in {folder}\n"
    job = shell.says("ps", "-a", "--name", "gang", "-q").strip()
    assert shell.says("logs", job, "-r", "all").splitlines() == [
        f"0| rank 0 of 2 in {folder}",
        f"1| rank 1 of 2 in {folder}",
    ]
    assert "✓ succeeded" in shell.says("show", job, "--events")
    assert json.loads(shell.says("show", job, "-o", "json"))["spec"]["workdir"] == str(folder)


def test_an_array_is_waited_for_and_what_failed_is_tried_again(shell: Shell, folder: Path) -> None:
    run = 'index=${MUSTER_JOB##*.}; test -e allowed || test "$index" != 1'
    array = submitted(shell, folder, "sweep", run, array="0-2")
    assert shell.type("wait", array).exit_code == 1
    assert "3/3 ended, 1 failed" in shell.says("ps", "-a", "--name", "sweep")
    assert len(shell.says("ps", "--array", array, "-q").splitlines()) == 3
    (folder / "allowed").touch()
    again = shell.says("retry", array, "-q").strip()
    shell.says("wait", again)


def test_a_job_that_waits_knows_why_and_is_cancelled(shell: Shell, folder: Path) -> None:
    full = submitted(shell, folder, "full", "sleep 600", workers=2, resources={"gpus": 4})
    eventually(lambda: shell.is_in(full, "running"), what="the gang runs")
    waits = submitted(shell, folder, "waits", "true", resources={"gpus": 1})
    assert "capacity: needs 1 GPU, 0 are free" in shell.says("why", waits)
    shell.says("update", waits, "--priority", "99", "--tag", "who=ada")
    assert "priority 99" in shell.says("show", waits)
    shell.says("hold", waits)
    eventually(lambda: "would help: muster release" in shell.says("why", waits), what="the reason is that it is held")
    shell.says("release", waits)
    assert shell.type("wait", waits, "--timeout", "0s").exit_code == 6
    top = shell.says("top")
    assert "8 of 8 GPUs (100 %), 1 run, 1 wait" in top
    shell.says("cancel", full, "--reason", "wrong data")
    assert shell.type("wait", full).exit_code == 6
    shell.says("wait", waits)


def test_a_node_is_drained_and_comes_back(shell: Shell) -> None:
    assert shell.says("drain", "n2", "--reason", "smoke") == "n2 is drained\n"
    assert "smoke" in shell.says("nodes")
    assert shell.says("undrain", "n2") == "n2 is ready\n"


def test_quotas_are_set_and_shown(shell: Shell) -> None:
    shell.says("quota", "set", "nlp", "--guaranteed", "*=4", "--limit", "*=6")
    shell.says("quota", "set", "nlp/small", "--weight", "2")
    teams = {team["path"]: team for team in json.loads(shell.says("teams", "-o", "json"))}
    assert (teams["nlp"]["guaranteed"], teams["nlp"]["limit"], teams["nlp/small"]["weight"]) == ({"*": 4}, {"*": 6}, 2)
    assert "nlp" in shell.says("teams")
    assert (teams["nlp"]["tiers"], teams["nlp"]["allow_unpreemptible"]) == (["standard", "exploratory"], False)
    urgent = ("run", "--team", "nlp", "--tier", "production", "--", "true")
    refused = shell.type(*urgent)
    assert (refused.exit_code, "may not use tier production" in refused.stderr) == (3, True)
    shell.says("quota", "set", "nlp", "--tiers", "production,standard", "--max-priority", "60")
    shell.says(*urgent)
    bounds = json.loads(shell.says("teams", "-o", "json"))[0]
    assert (bounds["tiers"], bounds["max_priority"]) == (["production", "standard"], 60)
    shell.says("quota", "remove", "nlp/small")
    last = shell.type("quota", "remove", "nlp")
    assert (last.exit_code, "the last team" in last.stderr) == (3, True)


def test_a_member_may_not_do_what_an_operator_may(shell: Shell) -> None:
    secret = shell.says("token", "create", "ada", "--role", "viewer", "--team", "default", "-q").strip()
    ada = Shell(home=shell.home, folder=shell.folder, variables={"MUSTER_TOKEN": secret})
    assert ada.says("whoami").startswith("ada at http://127.0.0.1:")
    assert ada.type("drain", "n1").exit_code == 3
    assert ada.type("run", "--", "true").exit_code == 3
    token = next(each["id"] for each in json.loads(shell.says("token", "list", "-o", "json")) if each["name"] == "ada")
    shell.says("token", "revoke", token)
    stranger = ada.type("ps")
    assert stranger.exit_code == 3
    assert "muster login" in stranger.stderr
    assert "denied" in shell.says("audit", "-n", "200", "-o", "json")
    assert "nothing was changed" in shell.says("audit", "--verify")


def test_the_head_of_the_audit_is_noted_outside_and_checked(shell: Shell, folder: Path) -> None:
    noted = folder / "head.json"
    noted.write_text(shell.says("audit", "head", "-o", "json"), "utf-8")
    assert "nothing was changed" in shell.says("audit", "verify", "--against", str(noted))
    other = {**json.loads(noted.read_text("utf-8")), "chain": "0" * 64}
    noted.write_text(json.dumps(other), "utf-8")
    changed = shell.type("audit", "verify", "--against", str(noted))
    assert (changed.exit_code, "made anew or cut off" in changed.stderr) == (1, True)


def test_a_lead_makes_tokens_for_services_of_the_team_alone(shell: Shell) -> None:
    secret = shell.says("token", "create", "lea", "--role", "lead", "--team", "default", "-q").strip()
    lead = Shell(home=shell.home, folder=shell.folder, variables={"MUSTER_TOKEN": secret})
    assert lead.type("token", "create", "root", "--team", "default").exit_code == 2
    assert lead.type("token", "create", "x", "--team", "default", "--subject", "ada").exit_code == 3
    made = lead.says("token", "create", "ada", "--team", "default", "-q").strip()
    service = Shell(home=shell.home, folder=shell.folder, variables={"MUSTER_TOKEN": made})
    assert service.says("whoami").startswith("default/ada at http://127.0.0.1:")
    token = next(each["id"] for each in json.loads(shell.says("token", "list", "-o", "json")) if each["name"] == "lea")
    assert "what was made with it" in shell.says("token", "revoke", token)
    assert service.type("ps").exit_code == 3


def test_a_job_submits_another_and_waits_for_it_with_the_token_that_it_finds(shell: Shell) -> None:
    inner = shlex.join((*MUSTER, "run", "--name", "inner", "--", "echo", "from inside"))
    told = shell.says("run", "--name", "outer", "--", "sh", "-c", f"{inner} && echo $MUSTER_TOKEN")
    assert "from inside" in told
    assert "_~" not in told
    jobs = json.loads(shell.says("ps", "-a", "--name", "outer", "-o", "json"))
    acting = f"{jobs[0]['id']} attempt 1 for {jobs[0]['user']}"
    assert acting in shell.says("audit", "-n", "5", "-o", "json")


def test_what_happened_can_be_replayed(shell: Shell, folder: Path) -> None:
    shell.says("run", "--gpus", "1", "--", "sleep", "0.2")
    assert shell.type("export", "trace.csv").exit_code == 0
    figures = shell.says("simulate", "--trace", "trace.csv", "--cluster", "2x4", "--policy", "muster", "-o", "json")
    assert json.loads(figures)["finished"] >= 1


def test_events_are_told_in_words(shell: Shell) -> None:
    shell.says("run", "--name", "eventful", "--", "true")
    job = shell.says("ps", "-a", "--name", "eventful", "-q").splitlines()[0]
    told = [line.split(job)[1].strip() for line in shell.says("events", "--job", job).splitlines()]
    assert told[0].endswith(": eventful, standard, no GPU")
    assert told[1:] == ["starts on n1", "worker 0 running", "worker 0 exited with code 0"]
    story = shell.says("story", job)
    assert "starts on n1 with no GPU" in story
    assert "all workers ended well: it has succeeded" in story


def test_what_does_not_exist_is_not_found(shell: Shell) -> None:
    for command in ("show", "why", "story", "cancel", "logs", "wait", "hold", "release", "retry"):
        assert shell.type(command, "job-999999").exit_code == 4, command
    assert shell.type("drain", "n99").exit_code == 4
    assert shell.type("quota", "remove", "nobody").exit_code == 4


def test_ctrl_c_cancels_what_was_run(shell: Shell) -> None:
    running = shell.begin("run", "--name", "patient", "--", "sleep", "600", stderr=subprocess.PIPE)
    job = eventually(lambda: shell.says("ps", "--name", "patient", "-q").strip(), what="the job is there")
    eventually(lambda: shell.is_in(job, "running"), what="the job runs")
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 6
    assert f"{job} is cancelled" in said
    assert shell.type("wait", job).exit_code == 6


def test_a_shell_on_a_node_is_typed_to(shell: Shell) -> None:
    here, there = pty.openpty()
    os.set_blocking(here, False)
    typing = shell.begin("run", "--pty", "--name", "typed", "--", "sh", stdin=there, stdout=there, stderr=there)
    os.close(there)
    seen = b""

    def shows(text: bytes) -> bool:
        nonlocal seen
        try:
            seen += os.read(here, 65536)
        except (BlockingIOError, OSError):
            return text in seen
        return text in seen

    eventually(lambda: shows(b"# ") or shows(b"$ "), what="a prompt")
    os.write(here, b"stty -echo; echo $((6 * 7)) $MUSTER_JOB\n")
    eventually(lambda: shows(b"42 job-"), what="an answer")
    os.write(here, b"exit 5\n")
    eventually(lambda: typing.poll() is not None or shows(b"nothing like this"), what="the end")
    assert typing.returncode == 5
    os.close(here)


def test_python_does_what_the_command_line_does(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_HOME", str(shell.home))
    with Client() as muster:
        job = muster.submit("name: from-python\nrun: echo hello\n")
        assert muster.wait(job.id, timeout=60).succeeded
        assert b"".join(piece.text for piece in muster.logs(job.id)) == b"hello\n"
        assert muster.job(job.id).document["spec"]["workdir"] == str(Path.cwd())
        assert [event.kind for event in muster.job_events(job.id)][:2] == ["job_submitted", "job_started"]
        assert muster.queue()["running"] == 0
        assert {tier["name"] for tier in muster.tiers()} >= {"production", "standard"}
        assert muster.policy()
        assert muster.pools() is not None
