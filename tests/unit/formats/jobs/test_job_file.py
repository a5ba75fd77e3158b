from pathlib import Path

import pytest

from muster.formats.jobs.job_document import job_document
from muster.formats.jobs.job_file import job_from_document, read_job
from muster.formats.text.document import Document, parse_document
from muster.model.resources import Request
from muster.model.spec import (
    ArraySpec,
    Begin,
    CheckpointSpec,
    Dependency,
    DependencyWhen,
    JobSpec,
    Launch,
    Mount,
    Parallelism,
    Retry,
    RetryCause,
    RoleSpec,
    TopologySpec,
)
from tests.unit.formats.scenarios.builders import job, job_errors

EXAMPLES = Path(__file__).parents[4] / "examples"

WHOLE = """
name: llama-pretrain
team: nlp/pretraining
tier: production
priority: 70
workers: 16
resources: {gpus: 8, gpu_type: [h100, a100], cpus: 64, memory: 512GiB, disk: 1TiB, throughput: {h100: 1.0, a100: 0.4}}
roles: {}
launch: torchrun
setup: pip install -r requirements.txt
run: python train.py --config big.yaml
env: {KEY: value, COUNT: 4, MUST_BE_GIVEN: null}
secrets: [HF_TOKEN]
parallelism: {tensor: 8, pipeline: 2}
topology: {within: block, prefer: rack, relax_after: 30m}
max_duration: 7d
expected_duration: 5d
checkpoint: {path: "s3://bucket/run", every: 1h, keep: 5, grace: 60s}
preemptible: false
retry: {limit: 3, on: [error, timeout]}
depends_on: [prep-1, {job: prep-2, when: finished}]
array: "0-99%8"
tags: {project: atlas}
constraint: a100&(ib|roce)
nodelist: "n[1-4],x"
exclude: [n3, "n[5-6]"]
exclusive: true
begin: 2026-01-02T03:04:05Z
image: registry.example:5000/nlp/train:2.1
mounts: [{from: /data//sets/, to: /data, read_only: true}, {from: /models, to: /models}]
"""


def test_a_whole_job_file_is_read() -> None:
    request = Request(
        gpu_milli=8000,
        gpu_types=("h100", "a100"),  # type: ignore[arg-type]
        cpu_milli=64_000,
        memory_bytes=512 << 30,
        disk_bytes=1 << 40,
        throughput=(("a100", 400), ("h100", 1000)),  # type: ignore[arg-type]
    )
    run = "python train.py --config big.yaml"
    assert job(WHOLE, MUST_BE_GIVEN="given") == JobSpec(
        name="llama-pretrain",
        team="nlp/pretraining",  # type: ignore[arg-type]
        tier="production",  # type: ignore[arg-type]
        roles=(RoleSpec(name="worker", workers_min=16, workers_max=16, request=request, run=run),),
        priority=70,
        launch=Launch.TORCHRUN,
        setup="pip install -r requirements.txt",
        env=(("COUNT", "4"), ("KEY", "value"), ("MUST_BE_GIVEN", "given")),
        secrets=("HF_TOKEN",),
        parallelism=Parallelism(tensor=8, pipeline=2),
        topology=TopologySpec(within="block", prefer="rack", relax_after_ms=1_800_000),  # type: ignore[arg-type]
        max_duration_ms=604_800_000,
        expected_duration_ms=432_000_000,
        checkpoint=CheckpointSpec(path="s3://bucket/run", every_ms=3_600_000, keep=5, grace_ms=60_000),
        preemptible=False,
        retry=Retry(limit=3, on=(RetryCause.ERROR, RetryCause.TIMEOUT)),
        depends_on=(
            Dependency(job="prep-1"),  # type: ignore[arg-type]
            Dependency(job="prep-2", when=DependencyWhen.FINISHED),  # type: ignore[arg-type]
        ),
        array=ArraySpec(indices=tuple(range(100)), concurrency=8),
        tags=(("project", "atlas"),),
        constraint="a100 & (ib | roce)",
        nodelist=("n1", "n2", "n3", "n4", "x"),  # type: ignore[arg-type]
        exclude=("n3", "n5", "n6"),  # type: ignore[arg-type]
        exclusive=True,
        begin=Begin(at_ms=1_767_323_045_000),
        image="registry.example:5000/nlp/train:2.1",
        mounts=(
            Mount(source="/data/sets", target="/data", read_only=True),
            Mount(source="/models", target="/models"),
        ),
    )


def test_a_job_may_begin_some_time_after_its_submission() -> None:
    assert job("name: a\nrun: x\nbegin: 90m").begin == Begin(after_ms=5_400_000)
    assert job("name: a\nrun: x\nbegin: +60s").begin == Begin(after_ms=60_000)
    assert Begin(after_ms=5).begins_ms(7) == 12
    assert Begin(at_ms=9).begins_ms(7) == 9
    assert job_document(job("name: a\nrun: x\nbegin: 90m"))["begin"] == "90m"


def test_the_example_is_a_valid_job_file() -> None:
    assert read_job(EXAMPLES / "job.yaml").elastic_role is not None


def test_a_small_job_file_has_the_documented_defaults() -> None:
    spec = job("name: a\nrun: true\ncheckpoint:\nretry:\n")
    assert spec == JobSpec(
        name="a",
        team="default",  # type: ignore[arg-type]
        tier="standard",  # type: ignore[arg-type]
        roles=(RoleSpec(name="worker", workers_min=1, workers_max=1, request=Request(), run="true"),),
    )


def test_an_elastic_job_has_a_range_of_workers() -> None:
    spec = job('name: a\nrun: x\nworkers: "4..8"\nresources: {gpus: 1}')
    assert spec.elastic_role is not None
    assert (spec.elastic_role.workers_min, spec.elastic_role.workers_max) == (4, 8)


def test_roles_stand_instead_of_workers() -> None:
    spec = job("name: a\nroles:\n  ps: {workers: 2, run: serve}\n  trainer: {resources: {gpus: 8}, run: train}")
    assert [(role.name, role.workers_min, role.request.gpu_milli) for role in spec.roles] == [
        ("ps", 2, 0),
        ("trainer", 1, 8000),
    ]


def test_an_automatic_interval_is_left_to_muster() -> None:
    spec = job("name: a\nrun: x\ncheckpoint: {path: p, every: auto}")
    assert spec.checkpoint == CheckpointSpec(path="p", every_ms=None)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("file:/ck", "file:///ck"),
        ("FILE:///ck", "file:///ck"),
        ("S3://b/Run", "s3://b/Run"),
        ("runs:1/ck", "runs:1/ck"),
    ],
)
def test_the_path_of_checkpoints_is_the_place_that_is_meant(written: str, meant: str) -> None:
    spec = job(f"name: a\nrun: x\ncheckpoint: {{path: '{written}'}}")
    assert spec.checkpoint is not None
    assert spec.checkpoint.path == meant


def test_a_variable_left_open_is_empty_when_nothing_is_submitted() -> None:
    assert job("name: a\nrun: x\nenv: {KEY: null}").env == (("KEY", ""),)


def test_a_variable_left_open_must_be_in_the_environment() -> None:
    with pytest.raises(Exception, match=r"env\.KEY: has no value, and the environment has none either"):
        job("name: a\nrun: x\nenv: {KEY: null}", OTHER="x")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("workers: true", "3: workers: must be a number of workers"),
        ("constraint: a &", "3: constraint: 'a &': a label is missing at the end"),
        ('nodelist: "n[1-2000]"', "3: nodelist: names 2000 nodes (at most 1000; give so many a label"),
        ("exclude: [a b]", "3: exclude: 'a b' is not a name for a node"),
        ("begin: soon", "3: begin: 'soon' is neither a time nor a length of time (such as 2026-"),
        ("begin: 9000d", "3: begin: '9000d' is too far away"),
        ("begin: 2026-13-01T00:00:00Z", "3: begin: "),
        ("workers: 0", "3: workers: 0: a job has at least one worker"),
        ("resources: {gpus: eight}", "3: resources.gpus: must be a number of GPUs such as 8 or 0.25, not 'eight'"),
        ("resources: {gpus: 1.5}", "3: resources.gpus: 1.5 GPUs: above one, only whole GPUs"),
        ("resources:\n  gpu: 8", "4: resources.gpu: unknown key (did you mean 'gpus'?)"),
        ("resources: 8", "3: resources: must be a mapping of keys to values, not 8"),
        ("resources: {throughput: {h100: 0}}", "3: resources.throughput.h100: must be above zero"),
        ("resources: {gpu_type: [1.5]}", "3: resources.gpu_type: must be text, not 1.5 (put quotes round it)"),
        ("gpu_typ: h100", "3: gpu_typ: unknown key"),
        ("gpus: 2", "3: gpus: unknown key (is what each worker needs; write resources: {gpus: 2})"),
        ("command: ls", "3: command: unknown key (is called run here)"),
        ("time: 1h", "3: time: unknown key (write max_duration: 12h)"),
        ("num_nodes: 2", "3: num_nodes: unknown key (as in SkyPilot; write workers: N"),
        ("commands: [a]", "3: commands: unknown key (as in dstack; write run: with one command to a line)"),
        ("resources: {accelerators: H100:8}", "3: resources.accelerators: unknown key (as in SkyPilot; H100:8 is gpus"),
        ("lanch: mpi", "3: lanch: unknown key (did you mean 'launch'?)"),
        (
            "launch: mip",
            "3: launch: must be one of plain, torchrun, torchft, mpi, jax, ray, slurm, not 'mip' (did you mean 'mpi'?)",
        ),
        ("priority: 101", "3: priority: must be less than or equal to 100, not 101"),
        ("priority: high", "3: priority: must be a whole number, not 'high'"),
        ("preemptible: yes", "3: preemptible: must be true or false, not 'yes'"),
        ("team: nlp/.", "3: team: 'nlp/.' is not the path of a team"),
        ("team: '*'", "3: team: '*' is not the path of a team"),
        ("team: a//b", "3: team: 'a//b' is not the path of a team"),
        (f"team: {'/'.join('abcdefghi')}", "3: team: more than 8 levels"),
        ("max_duration: 0s", "3: max_duration: must be above zero"),
        ("max_duration: 400d", "3: max_duration: must be above zero and at most 366d"),
        ("checkpoint: {every: 1h}", "3: checkpoint.path: is required"),
        ("checkpoint: {path: p, every: often}", "3: checkpoint.every: must be a duration"),
        ("checkpoint: {path: p, every: 0s}", "3: checkpoint.every: must be auto or a duration above zero"),
        ("checkpoint: {path: 's3:/b/run'}", "3: checkpoint.path: 's3:/b/run' names no place"),
        ("checkpoint: {path: 's3://'}", "3: checkpoint.path: 's3://' names no place"),
        ("checkpoint: {path: 'file:'}", "3: checkpoint.path: 'file:' names no place"),
        ("checkpoint: {path: 'file:ck'}", "3: checkpoint.path: 'file:ck' is no absolute path"),
        ("checkpoint: {path: 'file://ck/run'}", "3: checkpoint.path: 'file://ck/run' is no absolute path"),
        ("checkpoint: {path: ~/ck}", "3: checkpoint.path: '~/ck': ~ is not looked up"),
        ("checkpoint: {path: p, every: 5 minutes}", "3: checkpoint.every: must be a duration such as 90s, 30m"),
        ("checkpoint: {path: p, keep: 0}", "3: checkpoint.keep: must be greater than or equal to 1"),
        ("retry: {limit: 3, on: [eror]}", "3: retry.on[0]: must be one of error, oom, timeout, not 'eror'"),
        ("retry: 3", "3: retry: must be a mapping"),
        ("depends_on: prep", "3: depends_on: must be a list, not 'prep'"),
        ("depends_on: [{jb: x}]", "3: depends_on[0]: unknown key 'jb'"),
        ("depends_on: [{when: failed}]", "3: depends_on[0]: does not say which job"),
        ("depends_on: [{job: a, when: often}]", "3: depends_on[0]: when must be one of succeeded, failed, finished"),
        ("depends_on: [a b]", "3: depends_on[0]: 'a b' is not an id"),
        ("array: 9-0", "3: array: '9-0' in '9-0' ends before it begins"),
        ("env: {A-B: x}", "3: env.A-B: not the name of an environment variable"),
        ("env: {A: 1.50}", "3: env.A: must be text, not 1.5 (put quotes round it)"),
        ("secrets: [1A]", "3: secrets[0]: not the name of an environment variable"),
        ("tags: {a: [b]}", "3: tags.a: must be text, not a list"),
        ('setup: "a\\0b"', "3: setup: contains a NUL character"),
        ("roles: {a: {run: x}}", "2: run: run and roles cannot both be given"),
        ("parallelism: {tensor: 8}", "3: parallelism: tensor × pipeline = 8 does not divide the 0 GPUs"),
        (
            "parallelism: {tensor: 3}\nresources: {gpus: 8}",
            "3: parallelism: tensor × pipeline = 3 does not divide the 8",
        ),
        (
            "parallelism: {tensor: 6}\nworkers: 3\nresources: {gpus: 4}",
            "5: resources.gpus: tensor groups of 6 do not come",
        ),
        (
            "parallelism: {tensor: 2}\nresources: {gpus: 0.5}",
            "3: parallelism: a model cannot be split over 0.5 of a GPU",
        ),
        ("image: --privileged", "3: image: '--privileged' is not the name of an image (such as registry"),
        ("image: 'a:1 b'", "3: image: 'a:1 b' is not the name of an image"),
        ("image: a\nlaunch: mpi", "3: image: launch: mpi starts programs of the node"),
        ("image: a\nlaunch: ray", "3: image: launch: ray starts programs of the node"),
        ("mounts: [{from: /a, to: /a}]", "3: mounts: say what a container sees of its node, and this job has no image"),
        (
            "image: a\nmounts: [/a]",
            "4: mounts[0]: must be a mount, not '/a' ({from: /data, to: /data, read_only: true})",
        ),
        ("image: a\nmounts: [{from: /a}]", "4: mounts[0]: does not say `to`"),
        ("image: a\nmounts: [{from: a, to: /a}]", "4: mounts[0]: 'a' is not an absolute path"),
        ("image: a\nmounts: [{from: /a/../b, to: /a}]", "4: mounts[0]: '/a/../b' contains .."),
        ("image: a\nmounts: [{from: '/a,b', to: /a}]", "4: mounts[0]: '/a,b' contains a special character"),
        ("image: a\nmounts: [{from: 'pvc:A_b', to: /a}]", "4: mounts[0]: 'A_b' is not the name of a claim"),
        ("image: a\nmounts: [{from: 'pvc:a/../b', to: /a}]", "4: mounts[0]: '/../b' contains .."),
        ("image: a\nmounts: [{from: '/a:b', to: /a}]", "4: mounts[0]: '/a:b' contains a special character"),
        ("image: a\nmounts: [{from: /a, to: /}]", "4: mounts[0]: `to` cannot be '/'"),
        ("image: a\nmounts: [{from: /a, to: /proc/1}]", "4: mounts[0]: `to` cannot be '/proc/1'"),
        ("image: a\nmounts: [{from: /a, to: /a, mode: ro}]", "4: mounts[0]: unknown key 'mode'"),
        ("image: a\nmounts: [{from: /a, to: /a, read_only: x}]", "4: mounts[0]: read_only must be true or false"),
        (
            "image: a\nmounts: [{from: /a, to: /c}, {from: /b, to: /c/}]",
            "4: mounts[1]: something is at /c already",
        ),
        (
            "image: a\ncheckpoint: {path: /ck/run}\nmounts: [{from: /data, to: /ck}]",
            "5: mounts[0]: checkpoint.path is in /ck, which is /data for the node that copies checkpoints",
        ),
        ("parallelism: {tensor: 0}", "3: parallelism.tensor: must be greater than or equal to 1"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, expected: str) -> None:
    errors = job_errors(text)
    assert any(error.startswith(expected) for error in errors), errors


@pytest.mark.parametrize("entry", ['"setup": "\\ud800"', '"tags": {"\\udfff": "b"}', '"tags": {"a": "x\\ud800y"}'])
def test_half_a_character_is_refused(entry: str) -> None:
    with pytest.raises(Exception, match="contains half a character"):
        job_from_document(parse_document(f'{{"name": "a", "run": "x", {entry}}}', file="job.json"))


def test_a_name_must_suit_every_engine_underneath() -> None:
    for name in ("Upper", "under_score", "", "x" * 64, "a.b"):
        with pytest.raises(Exception, match=r"name: .* not a name for a job|name: is required"):
            job(f"name: '{name}'\nrun: x")


def test_a_job_without_a_name_or_a_command_cannot_be_submitted() -> None:
    with pytest.raises(Exception, match=r"(?s)name: is required.*run: is required"):
        job("team: a")
    with pytest.raises(Exception, match=r"roles\.a\.run: is required"):
        job("name: a\nroles: {a: {workers: 2}}")


def test_only_one_role_is_elastic() -> None:
    with pytest.raises(Exception, match=r"roles\.b\.workers: only one role may be elastic, and 'a' is already"):
        job('name: a\nroles: {a: {workers: "1..2", run: x}, b: {workers: "1..2", run: x}}')


def test_roles_are_bounded_and_named_properly() -> None:
    many = ", ".join(f"r{number}: {{run: x, workers: 65000}}" for number in range(33))
    with pytest.raises(Exception, match=r"33 roles are too many[\s\S]*too many workers in all"):
        job(f"name: a\nroles: {{{many}}}")
    with pytest.raises(Exception, match="not a name for a role"):
        job("name: a\nroles: {A B: {run: x}}")


def test_all_mistakes_are_reported_at_once() -> None:
    assert len(job_errors("workers: 0\npriority: -1\nlaunch: x\nnonsense: 1")) == 4


def test_a_job_is_written_as_a_person_would() -> None:
    assert job_document(job('name: a\nrun: x\nworkers: "2..4"\nresources: {gpus: 0.25, memory: 1GiB}')) == {
        "name": "a",
        "workers": "2..4",
        "resources": {"gpus": 0.25, "memory": "1GiB"},
        "run": "x",
    }


def test_a_whole_job_comes_back_from_its_document() -> None:
    spec = job(WHOLE, MUST_BE_GIVEN="given")
    assert job_from_document(Document(file="f", value=job_document(spec))) == spec


def test_a_mount_may_be_a_claim_and_a_folder_in_it() -> None:
    text = "{name: a, run: b, image: c, mounts: [{from: 'pvc:sets', to: /sets}, {from: 'pvc:runs//x/', to: /out}]}"
    spec = job_from_document(parse_document(text, file="job.yaml"))
    assert [each.source for each in spec.mounts] == ["pvc:sets", "pvc:runs/x"]
