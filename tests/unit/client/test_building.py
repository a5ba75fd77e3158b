"""The API and the client share one definition of every answer: what one sends is what the other gets."""

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest
from pydantic import TypeAdapter

from muster.annotations import without_none
from muster.answers.base import Answer
from muster.answers.events import Event
from muster.answers.marks import Items, Needed, Word
from muster.api.schemas.events import LogEvent
from muster.client.answers import Job, Node, Reason, Team, Token, Worker
from muster.client.building import build
from muster.model.errors import Unreachable

MOMENT = datetime(2026, 1, 1, 0, 0, 1, 250_000, tzinfo=UTC)


def _kinds(kind: type[Answer]) -> Iterator[type[Answer]]:
    for below in kind.__subclasses__():
        # A dataclass with slots is made twice; only the second has fields of its own.
        if hasattr(below, "__dataclass_fields__") and "__slots__" in vars(below):
            yield below
        yield from _kinds(below)


KINDS = sorted({kind.__name__: kind for kind in _kinds(Answer)}.values(), key=lambda kind: kind.__name__)


def sample(hint: Any) -> Any:
    """A value of a type as the API makes it."""
    if get_origin(hint) is Annotated:
        bare, *marks = get_args(hint)
        words: list[type[StrEnum]] = [mark.words for mark in marks if isinstance(mark, Word)]
        items = [mark.kind for mark in marks if isinstance(mark, Items)]
        if items:
            return (an_answer(items[0]),)
        return next(iter(words[0])) if words else sample(bare)
    hint = without_none(hint)
    if get_origin(hint) is Annotated:
        return sample(hint)
    if get_origin(hint) is tuple:
        return (sample(get_args(hint)[0]), sample(get_args(hint)[0]))
    if get_origin(hint) is dict:
        return {sample(get_args(hint)[0]): sample(get_args(hint)[1])}
    if isinstance(hint, type) and issubclass(hint, Answer):
        return an_answer(hint)
    return {str: "word", int: 3, float: 2.5, bool: True, datetime: MOMENT, Any: 1}[hint]


def an_answer(kind: Any) -> Any:
    return kind(**{name: sample(hint) for name, hint in _hints(kind).items()})


def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {each.name: hints[each.name] for each in fields(kind) if each.init}


def _is_items(hint: Any) -> bool:
    return get_origin(hint) is Annotated and any(isinstance(mark, Items) for mark in get_args(hint))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_the_api_sends_is_what_the_client_gets(kind: type[Answer]) -> None:
    answer = an_answer(kind)
    document = json.loads(TypeAdapter(kind).dump_json(answer))
    got = build(kind, document)
    assert got.document == document
    for name, hint in _hints(kind).items():
        sent = document[name] if _is_items(hint) else getattr(answer, name)
        assert getattr(got, name) == (tuple(sent) if isinstance(sent, list) else sent), name


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_an_older_server_does_not_send_is_nothing_unless_it_is_needed(kind: type[Answer]) -> None:
    marks = {name: get_args(hint)[1:] for name, hint in _hints(kind).items() if get_origin(hint) is Annotated}
    needed = {name for name, found in marks.items() if any(isinstance(mark, Needed) for mark in found)}
    document = json.loads(TypeAdapter(kind).dump_json(an_answer(kind)))
    build(kind, {name: document[name] for name in needed})
    build(kind, {name: value if name in needed else None for name, value in document.items()})
    for name in needed:
        with pytest.raises(Unreachable, match=rf"is not a {kind.__name__}: .*missing.*'{name}'"):
            build(kind, {other: value for other, value in document.items() if other != name})


def test_what_is_nothing_of_some_fields_is_said_with_them() -> None:
    assert build(Worker, {"rank": 0, "node": "n1"}).role == "worker"
    team = build(Team, {"path": "nlp"})
    assert (team.weight, team.allow_unpreemptible, team.tiers, team.used) == (1, True, None, {})
    node = build(Node, {"name": "n1", "gpu_type": None})
    assert (node.gpu_type, node.used.gpus, node.cpus) == ("", 0, None)
    assert build(Token, {"id": "t"}).secret is None
    assert build(Reason, {"code": "capacity"}).would_help is None


def test_an_answer_keeps_its_document_when_it_is_copied_and_is_compared_without_it() -> None:
    job = build(Job, {"id": "job-1", "name": "a", "state": "queued", "shiny": "new"})
    assert copy.copy(job).document == job.document
    assert asdict(job)["document"]["shiny"] == "new"
    assert replace(job, priority=0) == job == build(Job, {"id": "job-1", "name": "a", "state": "queued"})


def test_words_of_a_newer_server_are_kept() -> None:
    job = build(Job, {"id": "job-1", "name": "a", "state": "hibernating", "reason": "moonlight"})
    assert (job.state, job.reason, job.is_final) == ("hibernating", "moonlight", False)


def test_events_are_described_as_the_client_has_them_and_may_say_more() -> None:
    sent = LogEvent.model_json_schema(mode="serialization")
    got = TypeAdapter(Event).json_schema(mode="serialization")
    assert sent["properties"] == got["properties"]
    assert sent["required"] == got["required"]
    assert sent["additionalProperties"] is True


def test_the_client_loads_nothing_of_pydantic() -> None:
    program = (
        "import sys, muster.client.client; print(sorted({'pydantic', 'pydantic_core', 'fastapi'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
