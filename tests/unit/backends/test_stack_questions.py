"""Questions where the processes of a job are."""

from muster.backends.local.training.stack_questions import StackQuestions
from muster.model.ids import JobId, NodeName

JOB = JobId("job-1")


def test_every_node_of_a_large_gang_is_asked() -> None:
    questions, nodes = StackQuestions(), [NodeName(f"n{number:03}") for number in range(500)]
    number = questions.ask(JOB, nodes)
    assert [node for node, _ in questions.unasked()] == nodes
    for rank, node in enumerate(nodes):
        questions.answered(node, number, [[rank, "here"], "not an answer"])
    assert questions.answer(number, timeout_s=0) == dict.fromkeys(range(500), "here")


def test_what_a_node_says_too_late_is_passed_over() -> None:
    questions = StackQuestions()
    number = questions.ask(JOB, [NodeName("n1")])
    assert questions.answer(number, timeout_s=0) == {}
    questions.answered(NodeName("n1"), number, [[0, "here"]])
    assert questions.answer(questions.ask(JOB, []), timeout_s=0) == {}
