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


@pytest.mark.parametrize("array", [1, 2, 15, 19_999, 20_000, 131_071, 131_072, 1_048_575, 1_048_576, 10**14])
@pytest.mark.parametrize("index", [0, 1, 511, 512, 4_095, 4_096, 32_767, 32_768, 999_999_999])
def test_a_task_is_found_again_by_its_number(array: int, index: int) -> None:
    job = f"job-{array}.{index}"
    assert numbered_job(job_number(JobId(job))) == job


def test_the_numbers_of_tasks_are_seeds_and_differ() -> None:
    """`np.random.seed(int(SLURM_JOB_ID))` takes 32 bits, and others take 31."""
    tasks = [
        *[(array, index) for array in (1, 15, 16, 1_048_575) for index in range(512)],
        *[(array, index) for array in (15, 16, 131_071) for index in (512, 4_095)],
        *[(array, index) for array in (15, 16, 19_999) for index in (4_096, 32_767)],
    ]
    numbers = {int(job_number(JobId(f"job-{array}.{index}"))) for array, index in tasks}
    assert len(numbers) == len(tasks)
    assert max(numbers) < 1 << 31
    assert min(numbers) > int(job_number(JobId("job-268435455")))
    ports = {10_000 + int(job_number(JobId(f"job-15.{index}"))) % 50_000 for index in range(512)}
    assert len(ports) == 512


def test_a_number_from_before_small_ones_is_still_understood() -> None:
    """A job that was started by an earlier release knows itself by it."""
    assert numbered_job("16000000003") == "job-15.3"


def test_a_task_is_also_known_by_its_array_and_index() -> None:
    assert numbered_job("12_3") == numbered_job("12.3") == "job-12.3"
    assert array_numbers(JobId("job-12.3")) == ("12", "3")
    assert array_numbers(JobId("job-12")) is None


def test_an_id_that_somebody_chose_is_its_own_number() -> None:
    assert job_number(JobId("prep")) == "prep"
    assert numbered_job("prep") == "prep"
    assert array_numbers(JobId("prep")) is None
