"""A request to save that comes while a gang is still loading."""

from muster.backends.local.training.agreements import Agreements
from muster.backends.save_pace import REPORT_MS
from muster.model.ids import JobId, NodeName
from muster.model.instructions import AskCheckpoint
from muster.model.records import evolve
from muster.model.reports import WorkersExited
from muster.model.telemetry import RankProgress
from muster.worker.loop import Loop
from muster.worker.service import Message

JOB, N1, POST = JobId("job-1"), NodeName("n1"), NodeName("ab12@n1")
ASK = AskCheckpoint(job=JOB, attempt=1, generation=2, every_ms=60_000)


class Desk:
    """Agreements, with what they say to nodes."""

    def __init__(self) -> None:
        self.said: list[Message] = []
        self.posts: set[NodeName] = set()
        self.agreements = Agreements(Loop(settle=lambda: None), self._say, lambda node: node == POST)

    def _say(self, post: NodeName, message: Message) -> None:
        self.posts.add(post)
        self.said.append(message)

    def hear(self, rank: int, attempt: int = 1) -> None:
        self.agreements.heard(
            POST,
            RankProgress(
                job=JOB,
                attempt=attempt,
                at_ms=0,
                rank=rank,
                world=2,
                worker=rank,
                node=N1,
                step=5,
                step_ms=0,
                steps=5,
                step_us=100_000,
            ),
        )


def test_a_gang_saves_as_soon_as_all_of_its_ranks_are_there() -> None:
    desk = Desk()
    assert not desk.agreements.takes(ASK)
    desk.hear(0)
    assert desk.said == []
    desk.hear(1)
    assert [list(message) for message in desk.said] == [["announce"]]
    assert desk.posts == {POST}  # where their supervisor serves, which need not have the name of their node
    desk.hear(1)
    assert len(desk.said) == 1


def test_a_later_attempt_is_not_held_to_what_an_earlier_one_was_asked() -> None:
    desk = Desk()
    desk.agreements.takes(ASK)
    desk.hear(0, attempt=2)
    desk.hear(1, attempt=2)
    assert desk.said == []


def test_nothing_is_kept_of_a_program_that_never_had_boards() -> None:
    desk = Desk()
    desk.agreements.takes(ASK)
    desk.agreements.reported(WorkersExited(at_ms=1, job=JOB, attempt=1, generation=2, ranks=(0,), exit_code=0))
    assert desk.agreements._wishes == {}


def test_a_gang_that_has_not_saved_yet_is_paced_by_what_earlier_saves_of_its_job_took() -> None:
    desk = Desk()
    desk.agreements.takes(evolve(ASK, cost_ms=100, took_ms=1_000))
    desk.hear(0)
    desk.hear(1)
    [message] = desk.said
    assert message["announce"]["every"] == (60_000 - 2 * (1_000 + REPORT_MS)) * 9 // 1_000
