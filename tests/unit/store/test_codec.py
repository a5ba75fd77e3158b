"""What was stored by another version of Muster is read, or refused in words."""

import json

import pytest

from muster.model.errors import TooNew
from muster.model.events import CheckpointSaved, JobStarted, JobSubmitted
from muster.model.ids import JobId, NodeName
from muster.model.job import Job, JobState, Worker
from muster.store.codec import decode_event, decode_job, encode
from tests.builders import a_job


def without(body: bytes, *names: str) -> bytes:
    return json.dumps({key: value for key, value in json.loads(body).items() if key not in names}).encode()


def test_what_is_stored_keeps_its_form() -> None:
    # A change of this changes what logs of earlier days are read as, and the hash chain over them.
    seats = (Worker(rank=0, role="worker", node=NodeName("n1"), gpus=(0, 1)),)
    started = JobStarted(
        at_ms=7,
        job=JobId("job-1"),
        attempt=1,
        generation=2,
        workers=seats,
        max_duration_ms=60_000,
        stop_grace_ms=30_000,
    )
    assert encode(started) == (
        b'{"at_ms":7,"job":"job-1","attempt":1,"generation":2,'
        b'"workers":[{"rank":0,"role":"worker","node":"n1","gpus":[0,1],"share_milli":null}],'
        b'"max_duration_ms":60000,"stop_grace_ms":30000}'
    )


def test_a_field_that_an_older_body_does_not_have_gets_its_default() -> None:
    written = CheckpointSaved(at_ms=1, job=JobId("job-1"), attempt=2, cost_ms=3, saved_ms=4)
    older = without(encode(written), "cost_ms", "saved_ms")
    assert decode_event("CheckpointSaved", older) == CheckpointSaved(at_ms=1, job=JobId("job-1"), attempt=2)


def test_a_field_inside_a_field_gets_its_default_too() -> None:
    written = JobSubmitted(at_ms=1, job=JobId("job-1"), spec=a_job(), by="ann")
    body = json.loads(encode(written))
    del body["spec"]["retry"], body["spec"]["topology"]["relax_after_ms"]
    assert decode_event("JobSubmitted", json.dumps(body).encode()) == written


def test_a_record_of_an_older_muster_is_read() -> None:
    written = Job(id=JobId("job-1"), spec=a_job(), state=JobState.QUEUED, submitted_ms=1)
    assert decode_job(without(encode(written), "user", "billed_ms", "workers")) == written


def test_a_field_that_is_not_known_is_ignored() -> None:
    body = b'{"at_ms": 1, "job": "job-1", "attempt": 2, "colour": "red"}'
    assert decode_event("CheckpointSaved", body) == CheckpointSaved(at_ms=1, job=JobId("job-1"), attempt=2)


def test_a_kind_that_is_not_known_is_told() -> None:
    with pytest.raises(TooNew, match="'JobPainted', which this Muster does not know"):
        decode_event("JobPainted", b"{}")


@pytest.mark.parametrize(
    "body",
    [
        b'{"at_ms": 1, "job": "job-1"}',
        b'{"at_ms": "one", "job": "job-1", "attempt": 2}',
        b"[]",
        b'{"at_ms": 1',
    ],
)
def test_a_body_of_another_shape_is_told(body: bytes) -> None:
    with pytest.raises(TooNew, match="CheckpointSaved"):
        decode_event("CheckpointSaved", body)


def test_a_value_of_an_enum_that_is_not_known_is_told() -> None:
    written = Job(id=JobId("job-1"), spec=a_job(), state=JobState.QUEUED, submitted_ms=1)
    with pytest.raises(TooNew, match="stored Job"):
        decode_job(encode(written).replace(b'"queued"', b'"painted"'))
