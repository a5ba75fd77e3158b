"""Which rows are shown, in which order, and what is said of the selected one."""

import io

import pytest
from rich.console import Console

from muster.cli.top.changes import asked_of_job, asked_of_node
from muster.cli.top.job_rows import JobChoice, JobOrder, Which, chosen, matches
from muster.cli.top.node_rows import chosen_nodes, node_rows
from muster.cli.top.selection import LINE_CHARS, LOG_LINES, job_title, log_lines, node_text
from muster.client.answers import Job, Node
from muster.client.building import build
from tests.unit.cli.top.glances import a_glance, a_job, a_node, a_running_job, busy

GLANCE = a_glance(
    [
        a_job("job-4", name="zeta", gpus=64, team="nlp"),
        a_running_job("job-3", name="beta", gpus=8, team="vision", nodes=("n7",), started="2026-03-02T11:00:00Z"),
        a_running_job("job-2", name="gamma", gpus=16, team="nlp", user="bob"),
        a_job("job-1", name="alpha", gpus=1, team="audio", state="held", submitted="2026-03-02T08:00:00Z"),
    ]
)


def text_of(body: object) -> str:
    console = Console(file=io.StringIO(), width=100)
    with console.capture() as captured:
        console.print(body)
    return captured.get()


def shown(choice: JobChoice) -> str:
    return " ".join(job.id.removeprefix("job-") for job in chosen(GLANCE, choice))


def test_running_jobs_come_first_each_kind_as_it_came() -> None:
    assert shown(JobChoice()) == "2 3 1 4"
    assert shown(JobChoice(which=Which.RUNNING)) == "2 3"
    assert shown(JobChoice(which=Which.WAITING)) == "1 4"
    assert shown(JobChoice(is_reversed=True)) == "4 1 3 2"


@pytest.mark.parametrize(
    ("order", "ids"),
    [(JobOrder.GPUS, "4 2 3 1"), (JobOrder.TIME, "1 4 2 3"), (JobOrder.TEAM, "1 4 2 3"), (JobOrder.NAME, "1 3 2 4")],
)
def test_jobs_can_be_sorted(order: JobOrder, ids: str) -> None:
    assert shown(JobChoice(order=order)) == ids


def test_the_orders_come_one_after_another() -> None:
    order, seen = JobOrder.USUAL, []
    for _ in JobOrder:
        seen.append(order)
        order = order.next
    assert seen == list(JobOrder)
    assert order is JobOrder.USUAL


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ("NLP", "2 4"),
        ("nlp bob", "2"),
        ("team:nlp state:queued", "4"),
        ("n7", "3"),
        ("name:eta", "3 4"),
        ("eta", "3 4"),
        ("colon:nlp", ""),
        ("  ", "2 3 1 4"),
    ],
)
def test_a_filter_takes_words_and_keys(words: str, ids: str) -> None:
    assert shown(JobChoice(words=words)) == ids


def test_a_filter_is_text_and_not_a_pattern() -> None:
    job = build(Job, a_job(name="a.b"))
    assert matches(job, "a.b")
    assert not matches(job, ".*")
    assert not matches(job, "(")


def test_nodes_are_filtered_by_all_that_they_are() -> None:
    nodes = [a_node("n1", pool="spot", labels=["nvme"], jobs=["job-7"]), a_node("n2", state="down")]
    glance = a_glance([], nodes)
    for words, names in (("spot", ["n1"]), ("NVME", ["n1"]), ("job-7", ["n1"]), ("down", ["n2"]), ("", ["n1", "n2"])):
        assert [node.name for node in chosen_nodes(glance, words)] == names


def test_a_column_of_nodes_in_which_there_would_be_nothing_is_left_out() -> None:
    console = Console(file=io.StringIO(), width=100)
    plain = [build(Node, a_node("n1", gpu_type=None, pool="main", because="ready"))]
    assert node_rows(plain, console).lines(100)[0].plain.split() == ["node", "state", "GPUs", "used", "pool"]
    full = a_node("n2", domains={"rack": "r1"}, state="drained", because="fan", spare=True, reservations=["night"])
    lines = node_rows([build(Node, full)], console).lines(100)
    assert lines[0].plain.split()[-2:] == ["place", "why"]
    assert "r1     fan, kept as a spare, reserved: night" in lines[1].plain


def test_what_a_node_has_is_said_in_words() -> None:
    node = build(Node, busy("n1", 2, "job-1", bad_gpus=[3], labels=["nvme"], because="fan", state="draining"))
    said = text_of(node_text(node))
    for words in ("n1  draining: fan", "in use: 2 of 8 GPUs (h100)", "bad GPUs: 3", "labels: nvme", "jobs: job-1"):
        assert words in said
    bare = a_node("n2", cpus=None, memory_bytes=None, reservations=["night"])
    assert "CPUs not counted, memory not counted" in text_of(node_text(build(Node, bare)))
    assert "reserved: night" in text_of(node_text(build(Node, bare)))


def test_a_log_is_shown_as_a_terminal_would_leave_it_and_obeys_nothing() -> None:
    log = b"\x1b[32mgreen\x1b[0m\r\n 10%\r 20%\r 30%\nevil\x1b]0;owned\x07\n\xff"
    assert [line.plain for line in log_lines(log)] == ["green", " 30%", "evil\\x1b]0;owned\\x07", "�"]


def test_a_log_is_bounded_in_lines_and_in_their_length() -> None:
    lines = log_lines(b"x" * 5_000 + b"\n" + b"y\n" * 2_000)
    assert len(lines) == LOG_LINES
    assert len(log_lines(b"x" * 5_000)[0].plain) == LINE_CHARS


def test_the_title_of_a_job_says_what_is_shown_of_it() -> None:
    running = build(Job, a_running_job("job-1", nodes=("n1", "n2")))
    assert job_title(running, 1).plain == "job-1  log of rank 1 of 2  train  nlp, standard  n[1-2]"
    assert job_title(build(Job, a_job("job-2")), 0).plain == "job-2  why it waits  train  nlp, standard"


def test_jobs_are_not_drained_and_nodes_are_not_cancelled() -> None:
    assert asked_of_job("drain", build(Job, a_job())) is None
    assert asked_of_node("cancel", build(Node, a_node())) is None


def test_only_a_node_with_jobs_offers_to_evict_them() -> None:
    drained = asked_of_node("drain", build(Node, a_node()))
    evicted = asked_of_node("drain", build(Node, a_node(jobs=["job-1"])))
    assert drained is not None
    assert evicted is not None
    assert list(drained.choices) == ["y"]
    assert list(evicted.choices) == ["y", "e"]
    assert "1 job of yours on it" in evicted.question.plain
