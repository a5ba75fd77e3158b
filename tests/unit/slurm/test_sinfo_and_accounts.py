"""sinfo shows partitions and nodes; sacctmgr and sshare show accounts."""

import json

import pytest

from tests.unit.slurm.conftest import SlurmUser


def test_the_usual_table_is_that_of_slurm(user: SlurmUser) -> None:
    assert user.reads("sinfo") == [
        "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST",
        "main*        up   infinite      2  alloc n[1-2]",
        "main*        up   infinite      1    mix n3",
        "spot         up   infinite      1  drain n4",
    ]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("sinfo -h -N -o %N|%t|%G|%c|%m", [
            "n1|alloc|gpu:h100:8|128|1048576",
            "n2|alloc|gpu:h100:8|128|1048576",
            "n3|mix|gpu:h100:8|128|1048576",
            "n4|drain|gpu:h100:8|128|1048576",
        ]),
        ("sinfo -o %C", ["CPUS(A/I/O/T)", "132/252/0/384", "0/0/128/128"]),
        ("sinfo -h -p main -o %D", ["3"]),
        ("sinfo -o %P", ["PARTITION", "main*", "spot"]),
        ("sinfo -h -s -p spot", ["spot         up   infinite          0/0/1/1 n4"]),
        ("sinfo -h -t idle -o %N", []),
        ("sinfo -h -R -o %E|%N", ["a bad disk|n4"]),
        ("sinfo -h -O PartitionName:6,Nodes:.3 -p spot", ["spot    1"]),
    ],
)  # fmt: skip
def test_what_is_asked_for_is_shown(user: SlurmUser, line: str, shown: list[str]) -> None:
    assert user.reads(line) == shown


def test_json_has_the_nodes(user: SlurmUser) -> None:
    nodes = json.loads(user.types("sinfo", "--json").out)["nodes"]
    assert [(node["name"], node["state"], node["alloc_cpus"]) for node in nodes][:1] == [("n1", "allocated", 64)]


def test_accounts_are_the_teams_that_the_caller_may_use(user: SlurmUser) -> None:
    assert [line.strip() for line in user.reads("sacctmgr -n -s list user account format=account%256")] == ["nlp"]
    assert [line.strip() for line in user.reads("sshare -U --format Account%256 --noheader")] == ["nlp"]
    assert user.reads("sacctmgr -nP show assoc user=bob format=account") == []
    assert user.reads("sacctmgr -nP show qos format=name") == ["production", "standard", "exploratory"]
    assert user.reads("sshare -hP -A nlp -o Account,RawShares,RawUsage") == ["nlp|2|1200"]
    assert user.types("sacctmgr", "add", "user", "bob").code == 1
