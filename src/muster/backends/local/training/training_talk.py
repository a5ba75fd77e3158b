"""What the backend and its nodes tell each other about training: steps to agree on, stacks, runs, images."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping

from muster.backends.local.link import Link
from muster.backends.local.training.agreements import Agreements
from muster.backends.local.training.stack_questions import StackQuestions
from muster.model.ids import JobId, NodeName
from muster.worker.loop import Loop
from muster.worker.service import Message

RUNS_OVER_KEPT = 1_000
"""How many runs that are over are kept for nodes that are away. What they miss, they remove by themselves in time."""

NOTES_KEPT = 1_000
"""How many signals and hints may wait for the backend's own thread, which sends them at once."""


class TrainingTalk:
    """Between one backend and all of its nodes. Its first four methods may be called on any thread."""

    def __init__(self, loop: Loop, links: Mapping[NodeName, Link], ring: Callable[[], None]) -> None:
        """`ring` makes the backend's own thread call `send`."""
        self._links = links
        self.agreements = Agreements(loop, self._say, self._understands)
        self._ring = ring
        self._stacks = StackQuestions()
        self._notes: deque[tuple[NodeName, Message]] = deque(maxlen=NOTES_KEPT)
        self._news: deque[str] = deque(maxlen=RUNS_OVER_KEPT)
        self._over: deque[str] = deque(maxlen=RUNS_OVER_KEPT)
        """The last runs that are over. A node that was away hears of them when it greets."""

    def stacks(self, job: JobId, nodes: Iterable[NodeName], timeout_s: float) -> dict[int, str]:
        """Ask nodes for the stacks of a job's processes, and wait for the answers. Returns them by rank."""
        question = self._stacks.ask(job, [node for node in nodes if self._understands(node)])
        self._ring()
        return self._stacks.answer(question, timeout_s)

    def signal(self, job: JobId, nodes: Iterable[NodeName], number: int, *, script_only: bool) -> None:
        """Have nodes signal the processes of a job. Nodes whose supervisors are older than the message are left out."""
        message = {"signal": {"job": job, "number": number, "script_only": script_only}}
        self._note("signals", nodes, message)

    def end_runs(self, runs: Iterable[str]) -> None:
        """These runs are over for good."""
        self._news.extend(runs)
        self._ring()

    def pull_ahead(self, node: NodeName, images: tuple[str, ...]) -> None:
        """Have images on a node before jobs need them. What an engine gives away for a while has no time for that."""
        self._note("pulls_ahead", (node,), {"pull_ahead": list(images)})

    def send(self) -> None:
        """Send what was asked for on other threads."""
        for node, question in self._stacks.unasked():
            self._say(node, {"stacks": question})
        while self._notes:
            self._say(*self._notes.popleft())
        news = [self._news.popleft() for _ in range(len(self._news))]
        self._over.extend(news)
        for node in self._links if news else ():
            self._tell_over(node, news)

    def greeted(self, node: NodeName) -> None:
        """A node has greeted. It may have missed which runs are over."""
        self._tell_over(node, list(self._over))

    def hear(self, node: NodeName, message: Message) -> None:
        """A node answers. Anything else is ignored, because a node may be newer."""
        match message:
            case {"announced": dict(body)}:
                self.agreements.answered(node, body)
            case {"stacks": {"number": int(number), "ranks": list(texts)}}:
                self._stacks.answered(node, number, texts)
            case _:
                pass

    def _tell_over(self, node: NodeName, runs: list[str]) -> None:
        if runs and self._understands(node):
            self._say(node, {"over": runs})

    def _note(self, known_as: str, nodes: Iterable[NodeName], message: Message) -> None:
        """Send a message soon, to those nodes that know such messages."""
        able = [node for node in nodes if node in self._links and self._links[node].hello.get(known_as) is True]
        self._notes.extend((node, message) for node in able)
        self._ring()

    def _say(self, node: NodeName, message: Message) -> None:
        if node in self._links:
            self._links[node].say(message)

    def _understands(self, node: NodeName) -> bool:
        """True when a node is up, and its supervisor is not older than these messages."""
        link = self._links.get(node)
        return link is not None and link.is_up and link.hello.get("announces") is True
