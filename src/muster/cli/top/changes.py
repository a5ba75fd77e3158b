"""What the user may ask of the selected job or node, and the question before it is done."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from muster.cli.drawing.wording import amount, count
from muster.cli.terminal.text import Text
from muster.client.answers import Job, Node
from muster.model.printable import one_line

if TYPE_CHECKING:
    from muster.client import Client

EVICT = "e"
YES = "y"
_VERBS = {"cancel": "end it", "hold": "keep it from starting", "release": "let it start"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    """A question with its answers, and what is done then."""

    question: Text
    choices: Mapping[str, str]
    """What each key means."""
    carry_out: "Callable[[Client, str], str]"
    """Ask the server what the chosen key means, and say what came of it."""


def asked_of_job(verb: str, job: Job) -> PlannedChange | None:
    """A request about a job. None when jobs cannot be asked this."""
    if verb not in _VERBS:
        return None

    def carry_out(client: "Client", _: str) -> str:
        changed = client.request(verb, job.id)
        return f"{changed.id} is {changed.state}"

    gpus = f", {amount(job.gpus)} GPUs" if job.gpus else ""
    name = f"{job.id} {one_line(job.name)} ({one_line(job.user)}, {job.state}{gpus})"
    question = Text.assemble((f"{verb.capitalize()} ", "bold"), f"{name}?")
    return PlannedChange(question=question, choices={YES: _VERBS[verb]}, carry_out=carry_out)


def asked_of_node(verb: str, node: Node) -> PlannedChange | None:
    """A request about a node: to drain it, or to let it take work again. None when nodes cannot be asked this."""
    match verb:
        case "drain":
            return _draining(node)
        case "release":
            return _undraining(node)
        case _:
            return None


def _draining(node: Node) -> PlannedChange:
    def carry_out(client: "Client", key: str) -> str:
        changed = client.drain(node.name, evict=key == EVICT)
        return f"{one_line(changed.name)} is {changed.state}"

    choices = {YES: "give it no new work; what runs there may end in its own time"}
    if node.jobs:
        choices |= {EVICT: "also tell what runs there to save itself and leave"}
    busy = f" {count(len(node.jobs), 'job')} of yours on it" if node.jobs else " nothing of yours on it"
    question = Text.assemble(("Drain ", "bold"), f"{one_line(node.name)} ({node.state},{busy})?")
    return PlannedChange(question=question, choices=choices, carry_out=carry_out)


def _undraining(node: Node) -> PlannedChange:
    def carry_out(client: "Client", _: str) -> str:
        changed = client.undrain(node.name)
        return f"{one_line(changed.name)} is {changed.state}"

    question = Text.assemble(("Undrain ", "bold"), f"{one_line(node.name)} ({node.state})?")
    return PlannedChange(question=question, choices={YES: "let it take work again"}, carry_out=carry_out)
