"""Jobs with images on a real server, as users meet them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.containers.podman_store import RUN_OPTIONS, Store
from tests.containers.registry import running_registry
from tests.e2e.conftest import Shell, eventually

PROGRAM = """
import os, time
from muster.train import Checkpointer

state = {"extra": {"seen": 0}}
with Checkpointer() as checkpoints:
    step = checkpoints.restore(state)
    print(f"attempt {os.environ['MUSTER_ATTEMPT']} begins at {step}, seen {state['extra']['seen']}", flush=True)
    while step < 100_000 and not os.path.exists(os.environ["ENOUGH"]):
        time.sleep(0.02)
        step += 1
        state["extra"]["seen"] = step * 10
        if not checkpoints.step(step, state):
            print(f"left at {step}", flush=True)
            break
"""


@contextmanager
def running_server(folder: Path, store: Store, **containers: object) -> Iterator[Shell]:
    """A server with one node of two GPUs, whose nodes run images with the podman of the tests."""
    shell = Shell(home=folder / "home", folder=folder)
    settings = {"runtime": "podman", "options": list(store.options), "run_options": list(RUN_OPTIONS), **containers}
    written = "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
    (folder / "muster.toml").write_text(
        f'[local]\nnodes = "1x2"\n[policy]\nmin_runtime = "0s"\n[containers]\n{written}'
    )
    up = shell.run("up", "-d", "--config", str(folder / "muster.toml"), "--port", "0")
    try:
        assert up.returncode == 0, up.stderr
        yield shell
    finally:
        shell.run("down", "--jobs")


def submitted(shell: Shell, folder: Path, **job: object) -> str:
    file = folder / f"{job['name']}.json"
    file.write_text(json.dumps(job))
    return shell.says("submit", "-q", str(file)).strip()


def printed(shell: Shell, job: str) -> str:
    """What the present attempt has printed, perhaps nothing yet."""
    return str(shell.type("logs", job).stdout)


def test_a_training_in_a_container_saves_for_another_job_and_goes_on_afterwards(
    tmp_path: Path, store: Store, python_image: str
) -> None:
    with (
        running_registry(tmp_path) as registry,
        running_server(tmp_path, store, pull_options=["--tls-verify=false"]) as shell,
    ):
        image = f"{registry}/train:1"
        store.podman("push", "--tls-verify=false", python_image, image)
        code = tmp_path / "code"
        code.mkdir()
        (code / "train.py").write_text(PROGRAM)
        training = submitted(
            shell,
            code,
            name="train",
            image=image,
            workdir=".",
            run="python3 train.py",
            resources={"gpus": 2},
            env={"ENOUGH": f"{tmp_path}/checkpoints/enough"},
            checkpoint={"path": f"{tmp_path}/checkpoints", "grace": "30s"},
        )
        eventually(lambda: "begins at 0, seen 0" in printed(shell, training), what="the first attempt")
        eventually(lambda: "step" in shell.says("show", training), what="a step")
        urgent = submitted(
            shell, code, name="urgent", tier="production", run="true", resources={"gpus": 2}, image="localhost/shell:1"
        )
        shell.says("wait", urgent, "--timeout", "60s")
        eventually(lambda: "attempt 2 begins" in printed(shell, training), what="the second attempt")
        (tmp_path / "checkpoints" / "enough").touch()
        shell.says("wait", training, "--timeout", "60s")
        first = shell.says("logs", training, "--attempt", "1")
        left = next(line.split()[-1] for line in first.splitlines() if line.startswith("left at"))
        second = shell.says("logs", training)
        assert f"attempt 2 begins at {left}, seen {left}0" in second
        assert f"image      {image}" in shell.says("show", training)
        story = shell.says("story", training)
        assert f"pulled {image} on n1 in " in story
        assert story.count("pulled") == 1
        assert store.containers() == []


def test_a_cluster_without_a_runtime_says_so_at_submission(tmp_path: Path, store: Store) -> None:
    with running_server(tmp_path, store, runtime="enroot", options=[], run_options=[]) as shell:
        eventually(lambda: "runtime_found" in shell.says("events", "-o", "json"), what="what the node has")
        (tmp_path / "job.json").write_text(json.dumps({"name": "a", "image": "train:1", "run": "true"}))
        refused = shell.type("submit", str(tmp_path / "job.json"))
        assert refused.exit_code == 3, refused.output
        assert "no node has a container runtime that works: install podman" in " ".join(refused.stderr.split())


def test_an_image_that_does_not_exist_is_the_reason_that_a_user_reads(tmp_path: Path, store: Store) -> None:
    with (
        running_registry(tmp_path) as registry,
        running_server(tmp_path, store, pull_options=["--tls-verify=false"]) as shell,
    ):
        job = submitted(shell, tmp_path, name="lost", image=f"{registry}/lost:1", run="true", retry={"limit": 0})
        shell.type("wait", job, "--timeout", "60s")
        shown = " ".join(shell.says("show", job).split())
        assert "failed" in shown
        assert f"image {registry}/lost:1: not found: look at its name and its tag" in shown
