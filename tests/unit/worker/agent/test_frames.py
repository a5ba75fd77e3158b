"""Frames of the WebSocket protocol, against the library that the server uses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame as TheirFrame
from websockets.frames import Opcode
from websockets.streams import StreamReader

from muster.worker.agent.frames import BINARY, CLOSE, PAYLOAD_MOST, PING, TEXT, BadFrame, Frame, FrameReader, encoded

KINDS = st.sampled_from([TEXT, BINARY, PING])


def theirs(data: bytes) -> TheirFrame:
    """What the library reads from bytes that a client sent."""
    reader = StreamReader()
    reader.feed_data(data)
    reading = TheirFrame.parse(reader.read_exact, mask=True)
    try:
        next(reading)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    raise AssertionError("the frame is not complete")


@given(KINDS, st.binary(max_size=300) | st.integers(65_530, 65_540).map(bytes), st.binary(min_size=4, max_size=4))
def test_the_server_reads_what_an_agent_sends(kind: int, payload: bytes, mask: bytes) -> None:
    if kind == PING:
        payload = payload[:125]
    found = theirs(encoded(Frame(kind, payload), mask))
    assert (found.opcode, bytes(found.data), found.fin) == (kind, payload, True)


@given(st.lists(st.binary(max_size=300), max_size=5), st.integers(1, 40))
def test_an_agent_reads_what_the_server_sends_however_it_is_cut(payloads: list[bytes], piece: int) -> None:
    sent = b"".join(TheirFrame(Opcode.BINARY, each).serialize(mask=False) for each in payloads)
    reader, found = FrameReader(), list[Frame]()
    for at in range(0, len(sent), piece):
        found += reader.feed(sent[at : at + piece])
    assert [frame.payload for frame in found] == payloads


def test_parts_of_a_message_are_joined_and_a_ping_may_come_between() -> None:
    parts = (
        TheirFrame(Opcode.TEXT, b"one ", fin=False),
        TheirFrame(Opcode.PING, b"?"),
        TheirFrame(Opcode.CONT, b"two", fin=True),
    )
    sent = b"".join(each.serialize(mask=False) for each in parts)
    assert list(FrameReader().feed(sent)) == [Frame(PING, b"?"), Frame(TEXT, b"one two")]


@pytest.mark.parametrize(
    "sent",
    [
        TheirFrame(Opcode.CONT, b"two").serialize(mask=False),
        TheirFrame(Opcode.TEXT, b"x").serialize(mask=True),
        b"\xf2\x01x",
        b"\x82\x7f" + (PAYLOAD_MOST + 1).to_bytes(8, "big"),
        TheirFrame(Opcode.TEXT, b"x", fin=False).serialize(mask=False) * 2,
    ],
    ids=["a part without a beginning", "masked", "an extension", "too long", "two beginnings"],
)
def test_what_no_server_sends_is_refused(sent: bytes) -> None:
    with pytest.raises(BadFrame):
        list(FrameReader().feed(sent))


def test_the_end_is_a_frame_of_its_own() -> None:
    sent = TheirFrame(Opcode.CLOSE, b"").serialize(mask=False)
    assert list(FrameReader().feed(sent)) == [Frame(CLOSE, b"")]
