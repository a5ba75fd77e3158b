"""Scenario files as plain values, small and valid until a test changes one thing."""

from typing import Any

from muster.formats.jobs.job_file import job_from_document
from muster.formats.scenarios.scenario_file import scenario_from_document
from muster.formats.text.document import Document, InvalidDocument, parse_document
from muster.model.scenario import Scenario
from muster.model.spec import JobSpec

File = dict[str, Any]

NOW = "2026-01-01T00:00:00Z"
EARLIER = "2025-12-31T20:00:00Z"
LATER = "2026-01-01T04:00:00Z"


def a_node(name: str = "n[1-4]", **changes: Any) -> File:
    return {"name": name, "gpus": 8, "gpu_type": "h100", "cpus": 128, "memory": "1TiB", **changes}


def a_cluster(*nodes: File, **changes: Any) -> File:
    return {"nodes": list(nodes) or [a_node()], **changes}


def a_job(gpus: float = 8, workers: int | str = 1, **changes: Any) -> File:
    return {"workers": workers, "resources": {"gpus": gpus}, **changes}


def a_worker(node: str = "n1", gpus: list[int] | None = None, **changes: Any) -> File:
    return {"node": node, "gpus": list(range(8)) if gpus is None else gpus, **changes}


def a_running(*workers: File, id: str = "r1", job: File | None = None, **changes: Any) -> File:  # noqa: A002
    placed = list(workers) or [a_worker()]
    return {"id": id, "job": job or a_job(workers=len(placed)), "started": EARLIER, "workers": placed, **changes}


def a_waiting(id: str = "w1", job: File | None = None, **changes: Any) -> File:  # noqa: A002
    return {"id": id, "job": job or a_job(), "submitted": EARLIER, **changes}


def a_scenario(**parts: Any) -> File:
    return {"now": NOW, "cluster": a_cluster(), **parts}


def scenario(**parts: Any) -> Scenario:
    """The value that a scenario file with these parts stands for."""
    return scenario_from_document(Document(file="s.yaml", value=a_scenario(**parts)))


def scenario_errors(**parts: Any) -> list[str]:
    """What is wrong with a scenario file, each as `path: problem (hint)`."""
    try:
        scenario(**parts)
    except InvalidDocument as error:
        return [str(each).removeprefix("s.yaml: ") for each in error.errors]
    return []


def job(text: str, **environment: str) -> JobSpec:
    """The value that a job file stands for."""
    return job_from_document(parse_document(text, file="job.yaml"), environment=environment or None)


def job_errors(text: str) -> list[str]:
    """What is wrong with a job file that is complete apart from `text`, each as `line: path: problem (hint)`."""
    try:
        job("name: a\nrun: train\n" + text)
    except InvalidDocument as error:
        return [str(each).removeprefix("job.yaml:") for each in error.errors]
    return []
