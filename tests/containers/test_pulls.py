"""Images are pulled before workers start: once for a node, and a job that asks for what is not there hears why."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from muster.model.events import StartFailed
from muster.model.ids import NodeName
from muster.model.reports import ImagePulled, RuntimeFound, WorkersExited
from muster.worker.worker_reports import CANNOT_RUN
from tests.containers.conftest import SHELL_IMAGE, ContainerMachine, MakeMachine, in_image
from tests.containers.podman_store import Store
from tests.containers.registry import running_registry
from tests.local.machine import eventually


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, store: Store) -> Iterator[str]:
    with running_registry(tmp_path_factory.mktemp("registry")) as address:
        store.podman("push", "--tls-verify=false", SHELL_IMAGE, f"{address}/team/shell:1")
        yield address


@pytest.fixture
def pulling(make_machine: MakeMachine, store: Store) -> ContainerMachine:
    return make_machine(settings=replace(store.settings, pull_options=("--tls-verify=false",)))


def test_an_image_is_pulled_once_for_all_workers_and_that_is_told_apart_from_their_run(
    pulling: ContainerMachine, registry: str, store: Store
) -> None:
    image = f"{registry}/team/shell:1"
    store.podman("rmi", "--ignore", image)
    pulling.start(in_image("echo up", image), nodes=("n1", "n1"))
    pulling.exit_of(count=2)
    (told,) = [event for event in pulling.events if isinstance(event, ImagePulled)]
    assert (told.image, told.node, told.took_ms > 0) == (image, "n1", True)
    assert [pulling.log(rank=rank) for rank in (0, 1)] == [f"muster: pulling image {image}\nup\n"] * 2
    pulling.start(in_image("echo up", image), job="job-2")
    pulling.exit_of(job="job-2")
    assert pulling.log(job="job-2") == "up\n"
    assert len([event for event in pulling.events if isinstance(event, ImagePulled)]) == 1


def test_an_image_that_was_pulled_ahead_is_there_when_its_job_starts(
    pulling: ContainerMachine, registry: str, store: Store
) -> None:
    image = f"{registry}/team/shell:1"
    store.podman("rmi", "--ignore", image)
    pulling.heard(RuntimeFound)
    pulling.backend.pull_ahead(NodeName("n1"), (image, "127.0.0.1:1/team/absent:1"))
    eventually(lambda: store.has(image), what="the image is here")
    pulling.start(in_image("echo up", image))
    pulling.exit_of()
    assert pulling.log() == "up\n"
    assert not [event for event in pulling.events if isinstance(event, ImagePulled)]


@pytest.mark.parametrize(
    ("image", "problem"),
    [
        ("{}/team/other:1", "not found: look at its name and its tag"),
        ("{}/team/shell:2", "not found: look at its name and its tag"),
    ],
)
def test_an_image_that_does_not_exist_fails_the_job_and_says_so(
    pulling: ContainerMachine, registry: str, image: str, problem: str
) -> None:
    pulling.start(in_image("echo up", image.format(registry)))
    end = pulling.exit_of()
    assert (end.exit_code, end.told) == (CANNOT_RUN, False)
    assert f"image {image.format(registry)}: {problem}" in end.problem
    assert end.problem in pulling.log()


def test_a_registry_that_cannot_be_reached_is_not_the_fault_of_the_job(pulling: ContainerMachine) -> None:
    pulling.start(in_image("echo up", "127.0.0.1:1/team/shell:1"))
    failed = pulling.heard(StartFailed)
    assert failed.message.startswith("image 127.0.0.1:1/team/shell:1 cannot be pulled: ")
    assert "connection refused" in failed.message


def test_a_pull_that_takes_too_long_is_given_up(make_machine: MakeMachine, store: Store, registry: str) -> None:
    settings = replace(store.settings, pull_options=("--tls-verify=false",), pull_timeout_ms=1)
    store.podman("rmi", "--ignore", f"{registry}/team/shell:1")
    machine = make_machine(settings=settings)
    machine.start(in_image("echo up", f"{registry}/team/shell:1"))
    assert "it took longer than" in machine.heard(StartFailed).message


def test_a_job_that_is_told_to_leave_while_its_image_is_pulled_does_not_start(
    make_machine: MakeMachine, store: Store, tmp_path: Path
) -> None:
    slow = tmp_path / "slow"
    slow.mkdir()
    program = slow / "podman"
    program.write_text('#!/bin/sh\ncase "$*" in *pull*) sleep 600;; esac\nexec /usr/bin/podman "$@"\n')
    program.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{slow}:/usr/bin:/bin:/usr/sbin:/sbin")
        machine = make_machine()
        machine.start(in_image("echo up", "localhost/absent:1"))
        machine.says("pulling image")
        machine.stop()
        assert machine.exit_of().told
        assert not [event for event in machine.events if isinstance(event, WorkersExited) and not event.told]
