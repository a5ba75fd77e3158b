import pytest

from muster.worker.gang.file_names import file_name
from muster.worker.gang.node_lists import node_list, repeated

TASK = {
    "SLURM_JOB_ID": "12",
    "SLURM_JOB_NAME": "My_Run",
    "SLURM_ARRAY_JOB_ID": "11",
    "SLURM_ARRAY_TASK_ID": "3",
    "SLURM_PROCID": "5",
    "SLURM_STEP_ID": "2",
    "SLURMD_NODENAME": "n4",
    "SLURM_NODEID": "1",
    "SLURM_JOB_USER": "ann",
}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("%x-%j.out", "My_Run-12.out"),
        ("slurm-%A_%a.out", "slurm-11_3.out"),
        ("%J/%N_%n_%t_%s_%u", "12.2/n4_1_5_2_ann"),
        ("%4j_%02t", "0012_05"),
        ("100%%_%b", "100%_3"),
        ("\\%j", "%j"),
        ("%q", "%q"),
    ],
)
def test_patterns_stand_for_what_they_stand_for_in_slurm(pattern: str, expected: str) -> None:
    assert file_name(pattern, TASK) == expected


def test_a_job_that_is_no_task_has_no_index() -> None:
    job = {"SLURM_JOB_ID": "12"}
    assert file_name("%A_%a_%J_%s", job) == "12_4294967294_12_batch"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["n1"], "n1"),
        (["n1", "n2", "n3", "n7"], "n[1-3,7]"),
        (["n08", "n09", "n10"], "n[08-09],n10"),
        (["gpu", "n1", "m1", "m2"], "gpu,n1,m[1-2]"),
    ],
)
def test_nodes_are_listed_as_slurm_does(names: list[str], expected: str) -> None:
    assert node_list(names) == expected


def test_numbers_by_node_are_counted_together() -> None:
    assert repeated([2, 2, 2, 1]) == "2(x3),1"
