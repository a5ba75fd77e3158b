"""What each runtime is told, word by word: podman runs in the tests, the others are held to their documentation."""

import shlex
from dataclasses import replace

import pytest

from muster.worker.containers.apptainer import Apptainer
from muster.worker.containers.docker import Docker
from muster.worker.containers.enroot import Enroot
from muster.worker.containers.podman import Podman
from muster.worker.containers.runtime import Bind, Container, Limits, Runtime, image_file

WORKER = Container(
    name="muster-job-7-2-0-0badge00aa",
    badge="0badge00",
    image="registry.example/team/train:1",
    script="/tmp/m/w/start",
    binds=(
        Bind(source="/data/sets", target="/data/in/deep", read_only=True),
        Bind(source="/data", target="/data"),
    ),
    passed=("MUSTER_WORKER_TOKEN",),
    gpus=(2, 3),
    limits=Limits(memory_bytes=1 << 30, cpu_milli=1500, processes=64),
)
SIF = f"/store/{image_file(WORKER.image)}.sif"
SQSH = f"/store/{image_file(WORKER.image)}.sqsh"


def words(command: list[str]) -> str:
    return " ".join(command)


def test_podman_shares_the_node_and_gives_devices_by_their_interface() -> None:
    podman = Podman(options=("--runtime=runc",), run_options=("--ulimit=memlock=-1",))
    assert podman.run(WORKER) == [
        *("podman", "--log-level=fatal", "--runtime=runc", "run"),
        *("--name=muster-job-7-2-0-0badge00aa", "--label=muster.node=0badge00"),
        *("--network=host", "--pid=host", "--ipc=host"),
        *("--pull=never", "--log-driver=none", "--security-opt=label=disable"),
        "--env=MUSTER_WORKER_TOKEN",
        *("--memory=1073741824", "--cpus=1.5", "--pids-limit=64"),
        *("--mount", "type=bind,source=/data,target=/data"),
        *("--mount", "type=bind,source=/data/sets,target=/data/in/deep,readonly"),
        *("--device=nvidia.com/gpu=2", "--device=nvidia.com/gpu=3"),
        "--ulimit=memlock=-1",
        *("--entrypoint=/bin/sh", "registry.example/team/train:1", "/tmp/m/w/start"),
    ]


def test_docker_differs_in_its_devices_and_who_runs_in_a_container() -> None:
    run = Docker().run(replace(WORKER, user="1000:100", has_terminal=True))
    assert run[0:2] == ["docker", "run"]
    assert '--gpus="device=2,3"' in run
    assert "--user=1000:100" in run
    assert run[run.index("--interactive") + 1] == "--tty"
    assert Docker().check() == ["docker", "version", "--format", "{{.Server.Version}}"]
    assert Docker().enter(WORKER, "/x") == [
        *("docker", "exec", "--interactive", "--env=MUSTER_WORKER_TOKEN", WORKER.name, "/bin/sh", "/x")
    ]


def test_apptainer_runs_a_file_and_keeps_the_environment_of_the_node_outside() -> None:
    apptainer = Apptainer(options=("--quiet",), store="/store")
    assert apptainer.run(WORKER) == [
        *("apptainer", "--quiet", "exec", "--cleanenv", "--no-home", "--writable-tmpfs", "--nv"),
        *("--bind", "/data:/data", "--bind", "/data/sets:/data/in/deep:ro"),
        *(SIF, "/bin/sh", "/tmp/m/w/start"),
    ]
    assert apptainer.has_image(WORKER.image) == ["/usr/bin/test", "-f", SIF]
    pulled = f"apptainer --quiet pull --force --no-https {SIF}.new docker://{WORKER.image}"
    assert apptainer.pull(WORKER.image, ("--no-https",)) == ["/bin/sh", "-c", f"{pulled} && exec mv {SIF}.new {SIF}"]
    assert apptainer.enter(WORKER, "/x")[-3:] == [SIF, "/bin/sh", "/x"]


def test_enroot_unpacks_an_image_for_each_worker_and_removes_it_afterwards() -> None:
    enroot = Enroot(store="/store")
    shell, option, line = enroot.run(WORKER)
    assert (shell, option) == ("/bin/sh", "-c")
    unpacked, begun = line.split(" >&2 && ")
    assert shlex.split(unpacked) == ["enroot", "create", "--name", WORKER.name, SQSH]
    assert shlex.split(begun) == [
        *("NVIDIA_VISIBLE_DEVICES=2,3", "exec", "enroot", "start", "--rw"),
        *("--mount", "/data:/data:none:x-create=auto,rbind"),
        *("--mount", "/data/sets:/data/in/deep:none:x-create=auto,rbind,ro"),
        *("--env", "MUSTER_WORKER_TOKEN", "--env", "NVIDIA_VISIBLE_DEVICES"),
        *(WORKER.name, "/bin/sh", "/tmp/m/w/start"),
    ]
    assert f"enroot remove --force {WORKER.name}" in words(enroot.end(WORKER.name))
    assert "'^muster-.*-0badge00'" in words(enroot.leftovers("0badge00"))


@pytest.mark.parametrize(
    ("image", "address"),
    [
        ("ubuntu:22.04", "docker://ubuntu:22.04"),
        ("team/train:1", "docker://team/train:1"),
        ("registry.example/team/train:1", "docker://registry.example#team/train:1"),
        ("localhost:5000/train", "docker://localhost:5000#train"),
    ],
)
def test_enroot_names_registries_in_its_own_way(image: str, address: str) -> None:
    assert address in shlex.split(Enroot(store="/store").pull(image, ())[2])


@pytest.mark.parametrize("kind", [Podman, Docker, Apptainer, Enroot])
def test_without_devices_and_limits_nothing_is_said_of_them(kind: type[Runtime]) -> None:
    said = words(kind(store="/store").run(replace(WORKER, gpus=(), limits=Limits())))
    assert not any(word in said for word in ("gpu", "--nv ", "--memory", "--cpus", "--pids"))
