import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from muster.formats.jobs.job_file import job_from_document
from muster.formats.sbatch.sbatch_file import Imported, import_sbatch
from muster.formats.text.document import InvalidDocument


def imported(*options: str, body: str = "python train.py", shell: str = "#!/bin/sh", **tiers: str) -> Imported:
    """A script with these `#SBATCH` lines, the first of which is line 2."""
    lines = [shell, *(f"#SBATCH {option}" for option in options), body]
    return import_sbatch("\n".join(lines), file="train.sbatch", tiers=tiers)


def job(*options: str, **details: Any) -> dict[str, Any]:
    return imported(*options, **details).job


def notes(*options: str, **details: Any) -> list[str]:
    return [f"{note.line}: {note.text}" for note in imported(*options, **details).notes]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--job-name=train", {"name": "train"}),
        ("-J train", {"name": "train"}),
        ("-Jtrain", {"name": "train"}),
        ("--job-name='My Train'", {"name": "my-train"}),
        ("", {"name": "train", "workers": 1}),
        ("--nodes=4", {"workers": 4}),
        ("-N4 --ntasks-per-node=8", {"workers": 32}),
        ("-N 2-4", {"workers": 2}),
        ("--ntasks=6", {"workers": 6}),
        ("-n 6 -N 3", {"workers": 6}),
        ("--gpus=8", {"resources": {"gpus": 8}}),
        ("--gpus=16 --nodes=2", {"workers": 2, "resources": {"gpus": 8}}),
        ("-G h100:4", {"resources": {"gpus": 4, "gpu_type": ["h100"]}}),
        ("--gpus-per-node=8 -N 2", {"workers": 2, "resources": {"gpus": 8}}),
        ("--gpus-per-node=8 -N 2 --ntasks-per-node=8", {"workers": 16, "resources": {"gpus": 1}}),
        ("--gpus-per-task=a100:2 -n 4", {"workers": 4, "resources": {"gpus": 2, "gpu_type": ["a100"]}}),
        ("--gres=gpu:H100:8,nvme:1", {"resources": {"gpus": 8, "gpu_type": ["h100"]}}),
        ("--gres=gpu:2", {"resources": {"gpus": 2}}),
        ("--gres=gpu", {"resources": {"gpus": 1}}),
        ("--cpus-per-task=16", {"resources": {"cpus": 16}}),
        ("-c 4 --mem-per-cpu=2G", {"resources": {"cpus": 4, "memory": "8GiB"}}),
        ("--mem=512G --ntasks-per-node=4", {"workers": 4, "resources": {"memory": "128GiB"}}),
        ("--mem=4000", {"resources": {"memory": "4000MiB"}}),
        ("--mem-per-gpu=64G --gpus=2", {"resources": {"gpus": 2, "memory": "128GiB"}}),
        ("--tmp=1T", {"resources": {"disk": "1TiB"}}),
        ("--time=30", {"max_duration": "1800s"}),
        ("-t 12:30", {"max_duration": "750s"}),
        ("-t 1:30:00", {"max_duration": "5400s"}),
        ("-t 1-12", {"max_duration": "129600s"}),
        ("-t 1-12:30", {"max_duration": "131400s"}),
        ("-t 2-00:00:30", {"max_duration": "172830s"}),
        ("--array=0-99%8", {"array": "0-99%8"}),
        ("-a 1,3,5-7:2", {"array": "1,3,5-7:2"}),
        (
            "-d afterok:12:13,afterany:14,afternotok:15",
            {
                "depends_on": [
                    {"job": "12", "when": "succeeded"},
                    {"job": "13", "when": "succeeded"},
                    {"job": "14", "when": "finished"},
                    {"job": "15", "when": "failed"},
                ]
            },
        ),
        ("--account=nlp/pretraining", {"team": "nlp/pretraining"}),
        ("--partition=gpu", {"tier": "standard"}),
        ("-p other,urgent", {"tier": "production"}),
        ("--qos=gpu", {"tier": "standard"}),
        ("--chdir=/data/run", {"workdir": "/data/run"}),
        ("--export=NONE,A=b,C", {"env": {"A": "b", "C": None}}),
        ("--no-requeue", {"preemptible": False}),
        ("--comment='for the paper'", {"tags": {"comment": "for the paper"}}),
        ("--time=60 # an hour", {"max_duration": "3600s"}),
    ],
)
def test_an_option_is_taken_over(options: str, expected: dict[str, Any]) -> None:
    found = job(options, gpu="standard", urgent="production")
    assert {key: found[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("option", "note"),
    [
        ("--output=%j.out", "2: --output is ignored: `muster logs` shows what workers print"),
        ("-e err.txt", "2: --error is ignored: `muster logs`"),
        ("--mail-type=END", "2: --mail-type is ignored: nobody is written to"),
        ("--frobnicate yes", "2: --frobnicate is ignored: it is not known here"),
        ("-Z", "2: --Z is ignored: it is not known here"),
        ("--partition=gpu", "2: --partition=gpu is ignored: --tier-of gpu=TIER names a tier"),
        ("--signal=B:USR1@60", "2: --signal is ignored: SIGTERM announces the end"),
        ("--requeue", "2: --requeue is ignored: jobs are always started again"),
        ("--no-requeue", "2: --no-requeue: it is not preempted"),
        ("--time=UNLIMITED", "2: --time without a limit"),
        ("--mem=0", "2: --mem=0 is ignored"),
        ("--export=ALL", "2: --export=ALL is ignored: only variables that are named go along"),
        ("--gres=gpu:1,nvme:2", "2: --gres: nvme:2 is ignored: only GPUs are known here"),
        ("--dependency=singleton", "2: --dependency=singleton is ignored: only afterok"),
        ("--dependency=aftercorr:3", "2: aftercorr: the whole array is waited for"),
        ("--nodes=2-4", "2: --nodes=2-4: 2 are asked for"),
        ("--job-name=Big_Run", "2: the name 'Big_Run' becomes 'big-run'"),
        ("--exclusive --nodes 2", "2: --exclusive is ignored"),
    ],
)
def test_what_is_not_taken_over_is_noted_with_its_line(option: str, note: str) -> None:
    found = notes(option)
    assert len(found) == 1
    assert found[0].startswith(note)


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        ("--nodes=many", "train.sbatch:2: --nodes: must be a whole number above zero, not 'many'"),
        ("--time=noon", "train.sbatch:2: --time: must be a time such as 90, 12:00:00 or 1-12:00, not 'noon'"),
        ("--mem=lots", "train.sbatch:2: --mem: must be a size such as 4000M or 64G, not 'lots'"),
        ("--gpus=h100:2,a100:2", "train.sbatch:2: --gpus: must be a number of GPUs such as 8 or h100:8"),
        ("--gpus=7 -n 2", "train.sbatch:2: --gpus: 7 GPUs do not come out even on 2 tasks"),
        ("--dependency=afterok:1?afterok:2", "train.sbatch:2: --dependency: one of several dependencies"),
        ("--job-name='x", "train.sbatch:2: cannot be read: no closing quotation"),
        ("nodes=2", "train.sbatch:2: 'nodes=2' is not an option"),
    ],
)
def test_a_mistake_is_named_with_its_line(option: str, problem: str) -> None:
    with pytest.raises(InvalidDocument) as caught:
        imported(option)
    assert str(caught.value).startswith(problem)


def test_options_after_the_first_command_are_not_looked_at() -> None:
    text = "#!/bin/sh\n\n#SBATCH -N 2\n# a comment\n#SBATCHED -N 3\necho\n#SBATCH -N 4\n"
    assert import_sbatch(text, file="a").job["workers"] == 2


def test_a_script_without_commands_is_refused() -> None:
    with pytest.raises(InvalidDocument, match=r"a\.sh:3: the script has no commands"):
        import_sbatch("#!/bin/sh\n#SBATCH -N 2\n", file="a.sh")


def test_an_unknown_interpreter_is_refused() -> None:
    with pytest.raises(InvalidDocument, match="#!/usr/bin/ruby is not an interpreter"):
        imported(shell="#!/usr/bin/ruby")


def test_a_held_script_stays_held() -> None:
    assert imported("--hold").held
    assert not imported().held


def test_a_job_without_a_name_is_called_like_its_file() -> None:
    assert import_sbatch("echo", file="some/My Run.sbatch").job["name"] == "my-run"


def test_the_result_is_a_valid_job_file() -> None:
    options = ("-J big -N 2 --gres=gpu:h100:8 -c 16 --mem=512G -t 1-0", "-A nlp -a 0-9%2 --export=A=b")
    spec = job_from_document(imported(*options, shell="#!/bin/bash").document)
    assert (spec.name, spec.gang_workers, spec.gang_gpu_milli) == ("big", 2, 16_000)
    assert spec.max_duration_ms == 86_400_000


def test_what_is_wrong_with_the_job_is_told_on_the_line_of_the_script() -> None:
    script = imported("-J a", "--account=a//b", "--gpus=1000", "--array=9-0")
    with pytest.raises(InvalidDocument) as caught:
        job_from_document(script.document)
    lines = str(script.placed(caught.value)).splitlines()
    assert [line.split(": ")[:2] for line in lines] == [
        ["train.sbatch:4", "resources.gpus"],
        ["train.sbatch:3", "team"],
        ["train.sbatch:5", "array"],
    ]


def ran(script: str, folder: Path, **variables: str) -> str:
    """What the command of a worker prints."""
    command = import_sbatch(script, file="a.sbatch").job["run"]
    shell = shutil.which("sh") or "/bin/sh"
    environment = {
        "PATH": "/usr/bin:/bin",
        "MUSTER_JOB": "job-7.3",
        "MUSTER_RANK": "1",
        "MUSTER_WORLD": "4",
        **variables,
    }
    done = subprocess.run(
        [shell, "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=True, input="typed\n"
    )
    return done.stdout


def test_a_script_runs_as_each_worker(tmp_path: Path) -> None:
    script = """#!/bin/bash
#SBATCH -N 2 -c 8
items=(a "b c")
echo "${items[1]}" 'single $x' $SLURM_PROCID/$SLURM_NTASKS $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_JOB_ID
srun -n 4 --gpus-per-task=1 --label echo launched with $SLURM_CPUS_PER_TASK
read line && echo got $line
"""
    assert ran(script, tmp_path) == "b c single $x 1/4 3 of job-7\nlaunched with 8\ngot typed\n"


def test_a_script_in_python_runs_too(tmp_path: Path) -> None:
    script = "#!/usr/bin/env python3\n#SBATCH -n 4\nimport os\nprint('rank', os.environ['SLURM_PROCID'])\n"
    python = Path(shutil.which("python3") or "python3").parent
    assert ran(script, tmp_path, PATH=f"{python}:/usr/bin:/bin") == "rank 1\n"


def test_an_exit_code_is_passed_on(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as caught:
        ran("#!/bin/bash\nfalse\nexit 7\n", tmp_path)
    assert caught.value.returncode == 7


def test_what_only_slurm_has_is_noted() -> None:
    body = "# scontrol in a comment\nhosts=$(scontrol show hostnames $SLURM_JOB_NODELIST)\nsrun python train.py"
    assert [note.split(";")[0].split(":")[:2] for note in notes(body=body)] == [
        ["3", " SLURM_JOB_NODELIST will be empty"],
        ["3", " scontrol speaks to Slurm and will not work here"],
        ["4", " srun only runs its command"],
    ]
