import pytest

from muster.estimates.training import Habits
from muster.model.ids import GpuType
from muster.model.limits import MAX_DURATION_MS
from muster.sim.submissions import TraceSubmissions, worker_count
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
    role = TraceSubmissions(NODES).spec(a_trace_job("a", gpus=8, gpu_types=("old",), cpu_milli=16_000)).roles[0]
    assert (role.workers_min, role.request.gpu_milli, role.request.cpu_milli) == (2, 4000, 8000)


def test_jobs_that_are_alike_share_one_spec() -> None:
    made = TraceSubmissions(NODES)
    first, second = made.spec(a_trace_job("a", run_s=1)), made.spec(a_trace_job("b", run_s=2))
    assert first is second
    assert made.spec(a_trace_job("c", team="other")) is not first


def test_a_spec_says_only_what_the_trace_says() -> None:
    spec = TraceSubmissions(NODES).spec(a_trace_job("a", user="ann", name="train"))
    assert (spec.name, spec.tags, spec.max_duration_ms) == ("train", (("user", "ann"),), MAX_DURATION_MS)
    assert spec.expected_duration_ms is None
    assert spec.can_resume
    assert not TraceSubmissions(NODES, can_resume=False).spec(a_trace_job("a")).can_resume


def test_an_oracle_is_told_durations() -> None:
    assert TraceSubmissions(NODES, knows_durations=True).spec(a_trace_job("a", run_s=7)).expected_duration_ms == 7000


def test_speeds_are_told_in_steps_unless_they_are_not_known() -> None:
    job = a_trace_job("a", run_s=100, run_ms_by_type=((GpuType("old"), 333_000), (GpuType("odd"), 0)))
    assert TraceSubmissions(NODES).spec(job).roles[0].request.throughput == ((GpuType("old"), 300),)
    assert TraceSubmissions(NODES, knows_speeds=False).spec(job).roles[0].request.throughput == ()


def test_parts_of_gpus_above_one_are_rounded_up() -> None:
    assert TraceSubmissions(NODES).spec(a_trace_job("a", gpus=1.5)).roles[0].request.gpu_milli == 2000
    assert TraceSubmissions(NODES).spec(a_trace_job("a", gpus=0.25)).roles[0].request.gpu_milli == 250


def test_a_limit_has_the_grace_on_top_and_no_limit_means_whole_years() -> None:
    made = TraceSubmissions(NODES)
    assert made.spec(a_trace_job("a", run_s=10, max_duration_ms=60_000)).max_duration_ms == 60_000 + 120_000
    assert made.spec(a_trace_job("a", run_s=90, max_duration_ms=60_000)).max_duration_ms == 90_000 + 120_000
    assert made.spec(a_trace_job("a", run_s=MAX_DURATION_MS // 1000)).max_duration_ms == 2 * MAX_DURATION_MS


def test_only_types_that_a_job_may_get_count_towards_its_limit() -> None:
    speeds = ((GpuType("old"), 400_000), (GpuType("nowhere"), 900_000))
    job = a_trace_job("a", run_s=100, max_duration_ms=200_000, run_ms_by_type=speeds)
    picky = a_trace_job("a", run_s=100, max_duration_ms=200_000, run_ms_by_type=speeds, gpu_types=("h100",))
    made = TraceSubmissions(NODES, can_resume=False, stop_grace_ms=30_000)
    assert [made.spec(each).max_duration_ms for each in (job, picky)] == [430_000, 230_000]


def test_saving_gets_the_time_that_it_takes() -> None:
    spec = TraceSubmissions(NODES, habits=Habits(save_cost_ms=600_000)).spec(a_trace_job("a"))
    assert spec.checkpoint is not None
    assert spec.checkpoint.grace_ms == 600_000
