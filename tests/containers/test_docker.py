"""What is different with docker: a service may own the processes. podman stands in, which takes the same commands."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.containers.conftest import ContainerMachine, MakeMachine, in_image
from tests.containers.podman_store import Store
from tests.containers.test_ends import SAVES, pids, stays
from tests.local.machine import is_alive

CLIENT = """\
#!/bin/sh
case "$*" in *version*) echo 24;; *) exec podman --log-level=fatal "$@";; esac
"""


@pytest.fixture
def docker(
    make_machine: MakeMachine, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ContainerMachine:
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "docker").write_text(CLIENT)
    (folder / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/sbin:/usr/bin:/sbin:/bin")
    return make_machine(settings=replace(store.settings, runtime="docker"))


def test_a_worker_runs_and_may_save_before_it_leaves(docker: ContainerMachine) -> None:
    docker.start(in_image(SAVES))
    docker.says("up")
    docker.stop()
    end = docker.exit_of()
    assert (end.told, end.exit_code) == (True, 3)


def test_a_killed_container_is_gone_with_everything_in_it(
    docker: ContainerMachine, store: Store, tmp_path: Path
) -> None:
    docker.start(in_image(stays(tmp_path), workdir=str(tmp_path / "work")))
    docker.says("up")
    found = pids(tmp_path / "work" / "pids")
    docker.kill()
    assert docker.exit_of().exit_code == 137
    assert not any(map(is_alive, found))
    assert store.containers() == []
