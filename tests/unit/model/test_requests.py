"""What is asked of a job: one declaration for the API, the command line and what is told afterwards."""

import pytest
from typer.main import get_command

from muster.api.app import described
from muster.cli.main import app
from muster.model.requests import REQUESTS, JobRequest
from muster.store.codec import KINDS


@pytest.mark.parametrize("request_kind", REQUESTS, ids=lambda kind: kind.words.verb)
def test_a_request_is_an_event_an_operation_and_a_command(request_kind: type[JobRequest]) -> None:
    words = request_kind.words
    assert KINDS[request_kind.__name__] is request_kind
    operation = described()["paths"][f"/v1/jobs/{{job}}/{words.verb}"]["post"]
    assert (operation["operationId"], operation["summary"]) == (f"{words.verb}_job", words.summary)
    assert operation["description"] == words.operation
    command = get_command(app).commands[words.verb]  # type: ignore[attr-defined]
    assert command.help == words.command


def test_no_two_requests_have_the_same_verb() -> None:
    assert len({request.words.verb for request in REQUESTS}) == len(REQUESTS)
