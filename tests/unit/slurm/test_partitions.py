"""A partition is a pool: a job that names one uses its nodes, and one that does not exist is refused."""

from typing import Any, cast

import pytest

from muster.answers.nodes import Node
from muster.client.client import Client
from muster.formats.jobs.job_values import NODES_NAMED
from muster.formats.sbatch.options import Option
from muster.formats.text.document import InvalidDocument
from muster.model.errors import MusterError
from muster.slurm.options import SlurmError
from muster.slurm.submitting import Prepared, prepared
from tests.unit.slurm.conftest import SlurmUser

TIERS = [{"name": "production"}, {"name": "standard"}]
POOLS = [{"name": "main"}, {"name": "urgent", "tiers": ["production"]}]


class Named:
    """A node as far as partitions are concerned."""

    gpus = 8
    gpu_type = "h100"

    def __init__(self, name: str, pool: str) -> None:
        self.name, self.pool = name, pool


class AClient:
    """Answers what a submission asks."""

    def __init__(self, nodes: list[Named] | None) -> None:
        self._nodes = nodes

    def nodes(self) -> list[Node]:
        if self._nodes is None:
            raise MusterError("not for jobs")
        return cast("list[Node]", self._nodes)

    def tiers(self) -> Any:
        return TIERS

    def pools(self) -> Any:
        return POOLS


TWO_POOLS = [Named("n1", "main"), Named("n2", "main"), Named("u1", "urgent")]


def submitted(nodes: list[Named] | None, *options: tuple[str, str]) -> Prepared:
    client = cast("Client", AClient(nodes))
    given = [Option(name=name, value=value) for name, value in options]
    return prepared(client, "#!/bin/sh\ntrue\n", file="a.sh", options=given)


def test_a_job_uses_the_nodes_of_its_partition_and_nothing_is_noted() -> None:
    job = submitted(TWO_POOLS, ("partition", "main"))
    assert job.document["nodelist"] == ["n1", "n2"]
    assert job.notes == ()
    assert job.document["env"]["SLURM_JOB_PARTITION"] == "main"
    urgent = submitted(TWO_POOLS, ("partition", "urgent"), ("qos", "production"))
    assert (urgent.document["nodelist"], urgent.document["tier"], urgent.notes) == (["u1"], "production", ())
    narrow = submitted(TWO_POOLS, ("partition", "main"), ("nodelist", "n2"))
    assert narrow.document["nodelist"] == ["n2"]


def test_a_job_that_names_no_partition_or_all_of_them_may_use_every_node() -> None:
    assert "nodelist" not in submitted(TWO_POOLS).document
    assert "nodelist" not in submitted(TWO_POOLS, ("partition", "main,urgent")).document
    assert "nodelist" not in submitted(TWO_POOLS[:2], ("partition", "main")).document


def test_a_partition_that_does_not_exist_is_refused_as_in_slurm() -> None:
    for wrong in ("nosuch", "main,nosuch"):
        with pytest.raises(InvalidDocument, match="invalid partition specified: 'nosuch'; there are main, urgent"):
            submitted(TWO_POOLS, ("partition", wrong))


def test_a_tier_of_that_name_still_stands_for_a_partition() -> None:
    job = submitted(TWO_POOLS, ("partition", "production"))
    assert (job.document["tier"], "nodelist" in job.document, job.notes) == ("production", False, ())


def test_a_partition_that_does_not_take_the_tier_of_the_job_is_refused_with_the_one_to_add() -> None:
    with pytest.raises(SlurmError, match="partition urgent does not take standard; add --qos=production"):
        submitted(TWO_POOLS, ("partition", "urgent"))


def test_nodes_outside_of_the_partition_and_too_many_of_them_are_refused() -> None:
    with pytest.raises(SlurmError, match="u1 is not in partition main"):
        submitted(TWO_POOLS, ("partition", "main"), ("nodelist", "u1"))
    many = [*(Named(f"m{number}", "main") for number in range(NODES_NAMED + 1)), Named("u1", "urgent")]
    with pytest.raises(SlurmError, match="a job can name 1000: give them a label"):
        submitted(many, ("partition", "main"))


def test_a_caller_that_may_not_see_nodes_is_told_that_its_partition_is_not_taken_over() -> None:
    (note,) = submitted(None, ("partition", "main")).notes
    assert "--partition=main is ignored" in note


def test_a_partition_shows_the_tiers_that_its_pool_takes(user: SlurmUser) -> None:
    assert "   Qos=exploratory" in user.reads("scontrol show partition spot")
    assert "   Qos=production,standard,exploratory" in user.reads("scontrol show partition main")
