"""Arrays in a scenario are their tasks."""

from tests.unit.formats.scenarios.builders import a_job, a_running, a_waiting, scenario, scenario_errors


def test_a_waiting_array_is_its_tasks() -> None:
    task = a_running(id="sweep.1")
    value = scenario(
        running=[task],
        waiting=[a_waiting("sweep", a_job(array="0-4%3")), a_waiting("after", a_job(depends_on=["sweep"]))],
    )
    *tasks, after = value.waiting
    assert [(job.id, job.spec.array, job.awaits_turn) for job in tasks] == [
        ("sweep.0", None, False),
        ("sweep.2", None, False),
        ("sweep.3", None, True),
        ("sweep.4", None, True),
    ]
    assert after.unmet == ("sweep.1", "sweep.0", "sweep.2", "sweep.3", "sweep.4")


def test_a_task_waits_for_the_task_with_its_index_where_that_is_asked() -> None:
    same = a_job(array="0-1", depends_on=[{"job": "sweep", "task": "same"}])
    read = scenario(waiting=[a_waiting("sweep", a_job(array="0-1")), a_waiting("after", same)])
    assert {job.id: job.unmet for job in read.waiting if job.id.startswith("after")} == {
        "after.0": ("sweep.0",),
        "after.1": ("sweep.1",),
    }


def test_tasks_that_wait_for_the_same_jobs_share_their_list() -> None:
    after = a_waiting("after", a_job(array="0-2", depends_on=["sweep"]))
    read = scenario(waiting=[a_waiting("sweep", a_job(array="0-1")), after])
    lists = [job.unmet for job in read.waiting if job.id.startswith("after")]
    assert lists == [("sweep.0", "sweep.1")] * 3
    assert len({id(each) for each in lists}) == 1


def test_arrays_are_bounded_by_their_tasks() -> None:
    arrays = [a_waiting(f"a{number}", a_job(array="0-9999")) for number in range(11)]
    assert scenario_errors(waiting=arrays) == ["waiting: is 110000 jobs, with the tasks of arrays (at most 100000)"]
    same = [a_waiting("sweep", a_job(array="0-1")), a_waiting("sweep.1", a_job())]
    assert scenario_errors(waiting=same) == [
        "waiting[0].id: the id 'sweep.1' is also that of waiting[1] (ids are unique)"
    ]
