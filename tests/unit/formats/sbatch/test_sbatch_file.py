from dataclasses import replace
from typing import Any

import pytest

from muster.formats.jobs.job_file import job_from_document
from muster.formats.sbatch.options import SBATCH, SRUN, BadOption, read_options
from muster.formats.sbatch.sbatch_file import Imported, Submitter, import_sbatch
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
        ("--nodes=4", {"workers": 4, "topology": {"spread": True}}),
        ("--ntasks-per-n=4", {"workers": 1}),
        ("-N4 --ntasks-per-node=8", {"workers": 4}),
        ("-N 2-4", {"workers": 2}),
        ("--ntasks=6", {"workers": 1}),
        ("--ntasks=6 --ntasks-per-node=4", {"workers": 2}),
        ("-n 6 -N 3", {"workers": 3}),
        ("-n 2 -N 3", {"workers": 2}),
        ("-w n[1-2],n4", {"workers": 3, "nodelist": ["n1", "n2", "n4"]}),
        ("-x n3 -C a100&ib --exclusive", {"exclude": ["n3"], "constraint": "a100&ib", "exclusive": True}),
        ("--gpus=8", {"resources": {"gpus": 8}}),
        ("--gpus=16 --nodes=2", {"workers": 2, "resources": {"gpus": 8}}),
        ("-G h100:4", {"resources": {"gpus": 4, "gpu_type": ["h100"]}}),
        ("--gpus-per-node=8 -N 2", {"workers": 2, "resources": {"gpus": 8}}),
        ("--gpus-per-node=8 -N 2 --ntasks-per-node=8", {"workers": 2, "resources": {"gpus": 8}}),
        ("--gpus-per-task=1 -N 2 --ntasks-per-node=8", {"workers": 2, "resources": {"gpus": 8}}),
        ("--gpus=4 -n 4", {"workers": 4, "resources": {"gpus": 1}}),
        ("--gres=gpu:2 -n 4", {"workers": 1, "resources": {"gpus": 2}}),
        ("--gpus=7 -n 2", {"workers": 1, "resources": {"gpus": 7}}),
        ("--gpus-per-task=a100:2 -n 4", {"workers": 4, "resources": {"gpus": 2, "gpu_type": ["a100"]}}),
        ("--gres=gpu:H100:8,nvme:1", {"resources": {"gpus": 8, "gpu_type": ["h100"]}}),
        ("--gres=gpu:2", {"resources": {"gpus": 2}}),
        ("--gres=gpu", {"resources": {"gpus": 1}}),
        ("--cpus-per-task=16", {"resources": {"cpus": 16}}),
        ("-c 4 --mem-per-cpu=2G", {"resources": {"cpus": 4, "memory": "8GiB"}}),
        ("-c 4 -N 2 --ntasks-per-node=2", {"resources": {"cpus": 8}}),
        ("--cpus-per-gpu=4 --gpus=2", {"resources": {"gpus": 2, "cpus": 8}}),
        ("--mem=512G --ntasks-per-node=4", {"workers": 1, "resources": {"memory": "512GiB"}}),
        ("--mem=4000", {"resources": {"memory": "4000MiB"}}),
        ("--mem-per-gpu=64G --gpus=2", {"resources": {"gpus": 2, "memory": "128GiB"}}),
        ("--tmp=1T", {"resources": {"disk": "1TiB"}}),
        ("--dependency=aftercorr:3", {"depends_on": [{"job": "job-3", "when": "succeeded", "task": "same"}]}),
        ("--time=30", {"max_duration": "1800s"}),
        ("-t 12:30", {"max_duration": "750s"}),
        ("-t 1:30:00", {"max_duration": "5400s"}),
        ("-t 1-12", {"max_duration": "129600s"}),
        ("-t 1-12:30", {"max_duration": "131400s"}),
        ("-t 2-00:00:30", {"max_duration": "172830s"}),
        ("--array=0-99%8", {"array": "0-99%8"}),
        ("-a 1,3,5-7:2", {"array": "1,3,5-7:2"}),
        (
            "-d afterok:12:13_4,afterany:14,afternotok:15",
            {
                "depends_on": [
                    {"job": "job-12", "when": "succeeded"},
                    {"job": "job-13.4", "when": "succeeded"},
                    {"job": "job-14", "when": "finished"},
                    {"job": "job-15", "when": "failed"},
                ]
            },
        ),
        ("--account=nlp/pretraining", {"team": "nlp/pretraining"}),
        ("--partition=gpu", {"tier": "standard"}),
        ("-p other,urgent", {"tier": "production"}),
        ("--qos=gpu", {"tier": "standard"}),
        ("--chdir=/data/run", {"workdir": "/data/run"}),
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
        ("--licenses=matlab", "2: --licenses is ignored: licences are not counted here"),
        ("--deadline=now+1hour", "2: --deadline is ignored: it has no meaning here"),
        ("--partition=gpu", "2: --partition=gpu is ignored: --tier-of gpu=TIER names a tier"),
        ("--no-requeue", "2: --no-requeue: it is not preempted"),
        ("--time=UNLIMITED", "2: --time without a limit"),
        ("--time=0", "2: --time without a limit"),
        ("--time=00:00:00", "2: --time without a limit"),
        ("--mem=0", "2: --mem=0 is ignored"),
        ("--gres=gpu:1,nvme:2", "2: --gres: nvme:2 is ignored: only GPUs are known here"),
        ("--nodes=2-4", "2: --nodes=2-4: 2 are asked for"),
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
        ("--gpus=7 -N 2", "train.sbatch:2: --gpus: 7 GPUs do not come out even on 2 nodes"),
        ("--dependency=after:3", "train.sbatch:2: --dependency: 'after:3' is not possible here (afterok,"),
        ("--frobnicate yes", "train.sbatch:2: unrecognized option '--frobnicate'"),
        ("-Z", "train.sbatch:2: invalid option -- 'Z'"),
        ("--ntasks-per", "train.sbatch:2: --ntasks-per: option '--ntasks-per' is ambiguous: --ntasks-per-core"),
        ("-N", "train.sbatch:2: --nodes: option requires an argument"),
        ("hetjob", "train.sbatch:2: heterogeneous jobs (hetjob) are not known here"),
        ("--begin=soon", "train.sbatch:2: --begin: must be a time such as 16:00"),
        ("--open-mode=both", "train.sbatch:2: --open-mode: must be append or truncate"),
        ("--signal=USR1@soon", "train.sbatch:2: --signal: must be a signal and seconds"),
        ("--array=9-0", "train.sbatch:2: --array: "),
        ("-w n[1-", "train.sbatch:2: --nodelist: "),
        ("-w n1,n2 -N 3", "train.sbatch:2: --nodelist: names 2 of the 3 nodes that --nodes asks for"),
        ("--dependency=afterok:1?afterok:2", "train.sbatch:2: --dependency: one of several dependencies"),
        ("--job-name='x", "train.sbatch:2: cannot be read: no closing quotation"),
        ("nodes=2", "train.sbatch:2: 'nodes=2' is not an option"),
    ],
)
def test_a_mistake_is_named_with_its_line(option: str, problem: str) -> None:
    with pytest.raises(InvalidDocument) as caught:
        imported(option)
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--gpus-per-node=4", {"SLURM_GPUS_PER_NODE": "4"}),
        ("-G a100:2", {"SLURM_GPUS": "a100:2"}),
        ("-n 2 --gpus-per-task=1 --cpus-per-gpu=3", {"SLURM_GPUS_PER_TASK": "1", "SLURM_CPUS_PER_GPU": "3"}),
        ("--mem=2G", {"SLURM_MEM_PER_NODE": "2048"}),
        ("--mem=2G --mem-per-cpu=300", {"SLURM_MEM_PER_CPU": "300"}),
        ("--gres=gpu:4", {}),
    ],
)
def test_scripts_find_the_amounts_that_their_options_named(options: str, expected: dict[str, str]) -> None:
    amounts = ("SLURM_GPUS", "SLURM_CPUS_PER_GPU", "SLURM_MEM")
    assert {name: value for name, value in job(options)["env"].items() if name.startswith(amounts)} == expected


def test_the_last_way_to_say_how_much_memory_counts() -> None:
    assert job("--mem-per-cpu=1G --mem=4G")["resources"]["memory"] == "4GiB"
    assert "memory" not in job("--mem=4G --mem=0").get("resources", {})


def test_a_range_of_nodes_without_a_choice_needs_no_note() -> None:
    assert notes("-N 2-2") == []
    assert notes("-N 2-4") != []


def test_options_after_the_first_command_are_not_looked_at() -> None:
    text = "#!/bin/sh\n\n#SBATCH -N 2\n# a comment\n#SBATCHED -N 3\necho\n#SBATCH -N 4\n"
    assert import_sbatch(text, file="a").job["workers"] == 2


def test_a_script_without_commands_is_refused() -> None:
    with pytest.raises(InvalidDocument, match=r"a\.sh:3: the script has no commands"):
        import_sbatch("#!/bin/sh\n#SBATCH -N 2\n", file="a.sh")


def test_a_script_without_an_interpreter_is_refused_as_in_slurm() -> None:
    with pytest.raises(InvalidDocument, match="This does not look like a batch script"):
        import_sbatch("echo\n", file="a.sh")


def test_a_held_script_stays_held() -> None:
    assert imported("--hold").held
    assert not imported().held


def test_a_job_without_a_name_is_called_like_its_file() -> None:
    assert import_sbatch("#!/bin/sh\necho", file="some/My Run.sbatch").job["name"] == "my-run"


def test_the_result_is_a_valid_job_file() -> None:
    options = ("-J big -N 2 --gres=gpu:h100:8 -c 16 --mem=512G -t 1-0", "-A nlp -a 0-9%2 --export=A=b")
    spec = job_from_document(imported(*options, shell="#!/bin/bash").document)
    assert (spec.name, spec.gang_workers, spec.gang_gpu_milli) == ("big", 2, 16_000)
    assert spec.max_duration_ms == 86_400_000


def test_what_is_wrong_with_the_job_is_told_on_the_line_of_the_script() -> None:
    script = imported("-J a", "--account=a//b", "--gpus=1000", "--signal=NOSUCH@5")
    with pytest.raises(InvalidDocument) as caught:
        job_from_document(script.document)
    lines = str(script.placed(caught.value)).splitlines()
    assert [line.split(": ")[:2] for line in lines] == [
        ["train.sbatch:4", "resources.gpus"],
        ["train.sbatch:3", "team"],
        ["train.sbatch:5", "batch.signal.name"],
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", {"output": "slurm-%j.out", "tasks": 1, "tasks_per_worker": 1}),
        ("-a 0-3", {"output": "slurm-%A_%a.out"}),
        ("-o out-%j -e err --open-mode=append", {"output": "out-%j", "error": "err", "append": True}),
        ("-o none", {"output": "/dev/null"}),
        ("-N 2 --ntasks-per-node=4", {"tasks": 8, "tasks_per_worker": 4}),
        ("-N 2 -n 3", {"tasks": 3, "tasks_per_worker": 2}),
        ("-n 6 --ntasks-per-node=4", {"tasks": 6, "tasks_per_worker": 4}),
        ("-n 4 --gpus-per-task=2 -c 3", {"tasks": 4, "tasks_per_worker": 1, "gpus_per_task": 2, "cpus_per_task": 3}),
        ("--signal=B:USR1@90", {"signal": {"name": "USR1", "before": "90s", "script_only": True}}),
        ("--signal=SIGUSR2", {"signal": {"name": "SIGUSR2", "before": "60s"}}),
    ],
)
def test_how_the_script_is_run_follows_from_its_options(options: str, expected: dict[str, Any]) -> None:
    batch = job(options)["batch"]
    assert {key: batch.get(key) for key in expected} == expected


def test_the_script_itself_is_what_runs_with_its_arguments() -> None:
    text = "#!/bin/bash\n#SBATCH -n 2\nsrun hostname\n"
    found = import_sbatch(text, file="a.sh", arguments=["one", "two three"]).job
    assert (found["run"], found["launch"], found["batch"]["arguments"]) == (text, "slurm", ["one", "two three"])


def test_the_command_line_overrides_variables_and_these_the_script() -> None:
    options, rest = read_options(["-N2", "--time=5", "script.sh", "-N9"], SBATCH)
    submitter = Submitter(variables={"SBATCH_TIMELIMIT": "7", "SBATCH_JOB_NAME": "v", "SBATCH_NO_REQUEUE": "0"})
    text = "#!/bin/sh\n#SBATCH -N 1 -J script -t 9 -q urgent\ntrue\n"
    found = import_sbatch(text, file="a", options=options, submitter=submitter)
    assert (found.job["workers"], found.job["max_duration"], found.job["name"]) == (2, "300s", "v")
    assert rest == ["script.sh", "-N9"]
    assert "preemptible" not in found.job


HERE = Submitter(
    folder="/data/run",
    host="login1",
    variables={"A": "1", "B": "2", "SLURM_JOB_ID": "9", "MUSTER_TOKEN": "x", "a%": ""},
)


@pytest.mark.parametrize(
    ("export", "expected"),
    [
        ("", {"A": "1", "B": "2"}),
        ("--export=ALL", {"A": "1", "B": "2"}),
        ("--export=ALL,A=x,C=y", {"A": "x", "B": "2", "C": "y"}),
        ("--export=B,C=y", {"B": "2", "C": "y"}),
        ("--export=NONE", {}),
    ],
)
def test_variables_go_along_as_export_says(export: str, expected: dict[str, str]) -> None:
    text = f"#!/bin/sh\n#SBATCH -J Big_Run {export}\ntrue\n"
    found = import_sbatch(text, file="a", submitter=HERE).job["env"]
    own = {
        "SLURM_JOB_NAME": "Big_Run",
        "SLURM_SUBMIT_DIR": "/data/run",
        "SLURM_SUBMIT_HOST": "login1",
        "SLURM_JOB_PARTITION": "main",
        "SLURM_NTASKS_PER_NODE": "1",
        **({"SLURM_EXPORT_ENV": export.partition("=")[2]} if export else {}),
    }
    assert found == {**expected, **own}


@pytest.mark.parametrize("name", ["HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "wandb_api_key", "DB_PASSWORD"])
def test_what_looks_secret_goes_along_only_if_it_is_named(name: str) -> None:
    submitter = replace(HERE, variables={**HERE.variables, name: "s3cret"})
    kept_back = import_sbatch("#!/bin/sh\ntrue\n", file="a", submitter=submitter)
    assert name not in kept_back.job["env"]
    assert [name in each.text and "s3cret" not in each.text for each in kept_back.notes] == [True]
    named = import_sbatch(f"#!/bin/sh\n#SBATCH --export=ALL,{name}\ntrue\n", file="a", submitter=submitter)
    assert named.job["env"][name] == "s3cret"
    assert named.notes == ()


def test_an_array_says_how_large_it_is() -> None:
    found = job("--array=2-10:4")["env"]
    sizes = {name.removeprefix("SLURM_ARRAY_TASK_"): value for name, value in found.items() if "ARRAY" in name}
    assert sizes == {"COUNT": "3", "MIN": "2", "MAX": "10", "STEP": "4"}


def test_singleton_is_left_to_whoever_knows_the_other_jobs() -> None:
    assert imported("-d singleton").is_singleton
    assert imported("-d afterok:1,singleton").job["depends_on"] == [{"job": "job-1", "when": "succeeded"}]


@pytest.mark.parametrize(
    ("words", "expected", "rest"),
    [
        ("-n4 -l hostname -f", [("ntasks", "4"), ("label", "")], ["hostname", "-f"]),
        ("-lu -N 2 x", [("label", ""), ("unbuffered", ""), ("nodes", "2")], ["x"]),
        ("-K bash -c x", [("kill-on-bad-exit", "")], ["bash", "-c", "x"]),
        ("-K1 --pty bash", [("kill-on-bad-exit", "1"), ("pty", "")], ["bash"]),
        ("--exclusive -- -odd", [("exclusive", "")], ["-odd"]),
    ],
)
def test_a_command_line_is_read_as_getopt_does(words: str, expected: list[tuple[str, str]], rest: list[str]) -> None:
    options, left = read_options(words.split(), SRUN)
    assert ([(each.name, each.value) for each in options], left) == (expected, rest)


def test_an_unknown_option_names_where_help_is() -> None:
    with pytest.raises(BadOption) as caught:
        read_options(["--frob"], SRUN)
    assert (caught.value.problem, caught.value.hint) == (
        "unrecognized option '--frob'",
        'Try "srun --help" for more information',
    )
