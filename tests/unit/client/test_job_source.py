"""Job files as a client sends them: what was said is sent, and what a profile fills in is left to the server."""

import pytest

from muster.client.job_source import completed
from muster.formats.text.document import Document, InvalidDocument


def _sent(**keys: object) -> dict[str, object]:
    return completed(Document(file="job.yaml", value=keys), environment={"A": "1"}, folder="/here")


def test_what_a_file_says_is_sent_even_where_it_is_the_default() -> None:
    sent = _sent(name="a", run="x", priority=50, preemptible=True, resources={"gpus": 1}, tier=None)
    assert (sent["priority"], sent["preemptible"], sent["workdir"]) == (50, True, "/here")
    assert "tier" not in sent
    assert "priority" not in _sent(name="a", run="x")


def test_a_job_with_a_profile_may_leave_out_what_it_needs_and_is_completed_with_what_this_machine_knows() -> None:
    assert _sent(name="a", profile="small", env={"A": None, "B": "2"}) == {
        "name": "a",
        "profile": "small",
        "env": {"A": "1", "B": "2"},
        "workdir": "/here",
    }
    assert _sent(name="a", profile="small", env={"C": None}, workdir="/own") == {
        "name": "a",
        "profile": "small",
        "env": {"C": None},
        "workdir": "/own",
    }
    with pytest.raises(InvalidDocument, match="unknown key"):
        _sent(name="a", profile="small", gpu=1)
