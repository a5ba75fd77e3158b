import pytest

from muster.model.ids import JobId, array_numbers, job_number, natural, numbered_job


@pytest.mark.parametrize(
    "names",
    [
        ["alpha", "node-1", "node-2", "node-10"],
        ["job-9", "job-9.2", "job-9.10", "job-10", "job-10.1"],
        ["7", "10", "a", "a2b", "a10b", "a10c", "ab", "b"],
        ["n0", "n1", "n1-g2", "n1-g10", "n2", "n10", "n100"],
    ],
)
def test_names_sort_as_people_count(names: list[str]) -> None:
    listed = names[::-1]
    assert sorted(listed, key=natural) == names


def test_different_names_have_different_keys() -> None:
    names = ["n1", "n01", "n001", "n1-1", "n01-1", "n1-01", "n", ""]
    assert len({natural(name) for name in names}) == len(names)
    assert sorted(["n1", "n01", "n2", "n002"], key=natural) == ["n01", "n1", "n002", "n2"]


@pytest.mark.parametrize("job", ["job-1", "job-123456789", "job-12.0", "job-12.999999999"])
def test_a_job_is_found_again_by_its_number(job: str) -> None:
    assert job_number(JobId(job)).isdecimal()
    assert numbered_job(job_number(JobId(job))) == job


def test_a_task_is_also_known_by_its_array_and_index() -> None:
    assert numbered_job("12_3") == numbered_job("12.3") == "job-12.3"
    assert array_numbers(JobId("job-12.3")) == ("12", "3")
    assert array_numbers(JobId("job-12")) is None


def test_an_id_that_somebody_chose_is_its_own_number() -> None:
    assert job_number(JobId("prep")) == "prep"
    assert numbered_job("prep") == "prep"
    assert array_numbers(JobId("prep")) is None
