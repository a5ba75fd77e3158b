"""The linter and GPUs that are shared."""

from muster.core.plan_lint import lint
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.model.resources import Request
from muster.model.spec import RoleSpec
from tests.builders import a_job, a_scenario, flat, waits


def test_two_workers_of_a_second_role_may_share_a_gpu() -> None:
    trainer = RoleSpec(name="trainer", workers_min=1, workers_max=1, request=Request(gpu_milli=1000))
    loader = RoleSpec(name="loader", workers_min=2, workers_max=2, request=Request(gpu_milli=250))
    scenario = a_scenario(flat(1), waiting=[waits("w", a_job(roles=(trainer, loader)))])
    snapshot = Snapshot.of(scenario)
    made = plan(snapshot, scenario.now_ms)
    assert [start.job for start in made.starts] == ["w"]
    assert lint(made, snapshot) == ()
