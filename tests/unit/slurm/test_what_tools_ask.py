"""The exact command lines of tools, and what they read in the answers. docs/guides/slurm-commands.md lists them."""

import pytest

from tests.unit.slurm.conftest import SlurmUser


def test_nextflow_sees_what_runs_and_what_has_just_ended(user: SlurmUser) -> None:
    typed = user.types("squeue", "--noheader", "-o", "%i %t", "-t", "all", "-u", "account")
    states = dict(line.split() for line in typed.lines)
    assert {job: states[job] for job in ("7", "12", "13", "14")} == {"7": "R", "12": "F", "13": "TO", "14": "CA"}
    assert "8" not in states
    assert user.types("scancel", "7", "9").code == 0


def test_submitit_reads_the_states_of_an_array(user: SlurmUser) -> None:
    header, *lines = user.reads("sacct -o JobID,State,NodeList --parsable2 -j 10")
    assert header == "JobID|State|NodeList"
    states = {line.split("|")[0]: line.split("|")[1] for line in lines if "." not in line.split("|")[0]}
    assert states == {"10_0": "COMPLETED", "10_1": "RUNNING", "10_[2-4%2]": "PENDING"}


@pytest.mark.parametrize(
    ("line", "read"),
    [
        (
            "sacct -X --parsable2 --clusters all -n --format=JobIdRaw,State -S 2026-02-28 --endtime now --name bad",
            ["12|FAILED"],
        ),
        ("squeue --format=%i|%T --states=all --noheader --name bad", ["12|FAILED"]),
        ("sacct -j 12.0 --format=Reason --noheader", []),
        ("sinfo -o %P", ["PARTITION", "main*", "spot"]),
        ("sshare -U --format Account%256 --noheader", [f"{'nlp':>256} "]),
        ("sacctmgr -n -s list user account format=account%256", [f"{'nlp':>256} "]),
    ],
)
def test_snakemake_reads_states_accounts_and_partitions(user: SlurmUser, line: str, read: list[str]) -> None:
    assert user.reads(line) == read


def test_dask_counts_cpus(user: SlurmUser) -> None:
    assert user.reads("sinfo -o %C -p main") == ["CPUS(A/I/O/T)", "132/252/0/384"]
