import pytest

from muster.model.ids import GpuType
from muster.model.limits import MAX_DURATION_MS
from muster.sim.submissions import Submissions, worker_count
from tests.builders import a_node
from tests.unit.sim.builders import a_trace_job

NODES = (a_node("n1", gpus=8), a_node("n2", gpus=4, gpu_type="old"))


@pytest.mark.parametrize(
    ("gpus", "node_gpus", "workers"),
    [(8, 8, 1), (12, 8, 2), (16, 8, 2), (9, 8, 3), (24, 8, 3), (13, 8, 13), (0.5, 8, 1), (0, 8, 1), (4, 0, 1)],
)
def test_a_gang_is_divided_into_as_few_equal_workers_as_possible(gpus: float, node_gpus: int, workers: int) -> None:
    assert worker_count(round(gpus * 1000), node_gpus) == workers


def test_a_job_that_wants_one_type_is_divided_by_the_nodes_that_have_it() -> None:
    role = Submissions(NODES).spec(a_trace_job("a", gpus=8, gpu_types=("old",), cpu_milli=16_000)).roles[0]
    assert (role.workers_min, role.request.gpu_milli, role.request.cpu_milli) == (2, 4000, 8000)


def test_jobs_that_are_alike_share_one_spec() -> None:
    made = Submissions(NODES)
    first, second = made.spec(a_trace_job("a", run_s=1)), made.spec(a_trace_job("b", run_s=2))
    assert first is second
    assert made.spec(a_trace_job("c", team="other")) is not first


def test_a_spec_says_only_what_the_trace_says() -> None:
    spec = Submissions(NODES).spec(a_trace_job("a", user="ann", name="train"))
    assert (spec.name, spec.tags, spec.max_duration_ms) == ("train", (("user", "ann"),), MAX_DURATION_MS)
    assert spec.expected_duration_ms is None
    assert spec.can_resume
    assert not Submissions(NODES, can_resume=False).spec(a_trace_job("a")).can_resume


def test_an_oracle_is_told_durations() -> None:
    assert Submissions(NODES, knows_durations=True).spec(a_trace_job("a", run_s=7)).expected_duration_ms == 7000


def test_speeds_are_told_in_steps_unless_nobody_knows_them() -> None:
    job = a_trace_job("a", run_s=100, run_ms_by_type=((GpuType("old"), 333_000), (GpuType("odd"), 0)))
    assert Submissions(NODES).spec(job).roles[0].request.throughput == ((GpuType("old"), 300),)
    assert Submissions(NODES, knows_speeds=False).spec(job).roles[0].request.throughput == ()


def test_parts_of_gpus_above_one_are_rounded_up() -> None:
    assert Submissions(NODES).spec(a_trace_job("a", gpus=1.5)).roles[0].request.gpu_milli == 2000
    assert Submissions(NODES).spec(a_trace_job("a", gpus=0.25)).roles[0].request.gpu_milli == 250
