"""What the first worker of a batch job writes about its steps is what the control plane reads."""

import json
from pathlib import Path

from muster.backends.local.step_files import read_steps
from muster.worker.gang import step_records
from muster.worker.gang.step_records import StepRecords

SIZE = {"tasks": 2, "cpus": 4, "gpus": 1, "nodes": ["n1", "n2"]}


def test_steps_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "1" / "steps.jsonl"
    records = StepRecords(str(path))
    records.begin("batch", name="batch", tasks=1, cpus=2, gpus=0, nodes=["n1"])
    records.begin("0", name="python", tasks=2, cpus=4, gpus=1, nodes=["n1", "n2"])
    records.end("0", 3, {"max_rss_bytes": 1024, "cpu_ms": 5, "max_rss_task": 1, "max_rss_node": "n2"})
    records.end("0", 137, {})
    batch, first = read_steps(path)
    assert (batch.step, batch.ended_ms, batch.code) == ("batch", None, None)
    assert (first.name, first.tasks, first.cpus, first.gpus, first.nodes) == ("python", 2, 4, 1, ("n1", "n2"))
    assert (first.code, first.max_rss_bytes, first.max_rss_task, first.max_rss_node) == (3, 1024, 1, "n2")
    assert first.ended_ms is not None


def test_a_job_that_never_stops_starting_steps_fills_no_disk(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    records = StepRecords(str(path))
    for number in range(step_records.STEPS_MAX + 5):
        records.begin(str(number), name="x" * 5_000, tasks=1, cpus=1, gpus=0, nodes=["n1"])
        records.end(str(number), 0, {})
    assert len(read_steps(path)) == step_records.STEPS_MAX
    assert path.stat().st_size < step_records.STEPS_MAX * 500


def test_what_a_job_scribbled_into_the_file_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    begun = {"step": "0", "began_ms": 1, "name": "a\x1b[2J\nb", **SIZE}
    lines = [
        b"\xff\xfe",
        b"[" * 100_000,
        b"7",
        json.dumps({"step": "1", "began_ms": "soon", "name": "x", **SIZE}).encode(),
        json.dumps({"step": "2", "began_ms": 10**30, "name": "x", **SIZE}).encode(),
        json.dumps({"step": "9", "ended_ms": 5, "code": 0}).encode(),
        json.dumps(begun).encode(),
        b'{"step": "0", "ended',
    ]
    path.write_bytes(b"\n".join(lines))
    (only,) = read_steps(path)
    assert (only.step, only.ended_ms) == ("0", None)
    assert only.name.isprintable()
    assert read_steps(tmp_path / "none") == ()
