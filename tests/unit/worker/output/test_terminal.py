import os
from collections.abc import Iterator

import pytest

from muster.model.node_limits import TERMINAL_REPLAY_BYTES
from muster.worker.output.terminal import PseudoTerminal, replayed


@pytest.fixture
def terminal() -> Iterator[PseudoTerminal]:
    made = PseudoTerminal()
    yield made
    for end in made.ends:
        os.close(end)


def seen_later(terminal: PseudoTerminal) -> bytes:
    """What a viewer is shown who comes now."""
    shown: list[bytes | None] = []
    terminal.attach(1, shown.append)
    terminal.detach(1)
    return b"".join(each for each in shown if each)


def test_a_viewer_sees_the_prompt_that_was_printed_before(terminal: PseudoTerminal) -> None:
    terminal.show(b"\x1b[?2004huser@node:~$ ")
    assert seen_later(terminal) == b"\x1b[?2004huser@node:~$ "
    assert seen_later(terminal) == b"\x1b[?2004huser@node:~$ "


def test_a_viewer_of_a_terminal_that_printed_nothing_sees_nothing(terminal: PseudoTerminal) -> None:
    assert seen_later(terminal) == b""


def test_earlier_output_is_bounded_and_begins_with_a_whole_line(terminal: PseudoTerminal) -> None:
    for number in range(20_000):
        terminal.show(b"\x1b[31mline %d\x1b[0m\r\n" % number)
    later = seen_later(terminal)
    assert 0 < len(later) <= TERMINAL_REPLAY_BYTES
    assert later.startswith(b"\x1b[31mline ")
    assert later.endswith(b"line 19999\x1b[0m\r\n")


@pytest.mark.parametrize(
    "query",
    [
        b"\x05",
        b"\x1bZ",
        b"\x1b[c",
        b"\x1b[0c",
        b"\x1b[>c",
        b"\x1b[=0c",
        b"\x1b[5n",
        b"\x1b[6n",
        b"\x1b[?6n",
        b"\x1b[?2026$p",
        b"\x1b[14t",
        b"\x1b[18t",
        b"\x1b[21t",
        b"\x1b[>0q",
        b"\x1b[?u",
        b"\x1b]11;?\x07",
        b"\x1b]4;1;?\x1b\\",
        b"\x1bP$qm\x1b\\",
        b"\x1bP+q544e\x1b\\",
    ],
)
def test_a_question_to_the_terminal_is_not_asked_again(query: bytes) -> None:
    assert replayed(b"before" + query + b"after", is_cut=False) == b"beforeafter"


@pytest.mark.parametrize(
    "drawn",
    [b"\x1b[31mred\x1b[0m", b"\x1b[2J\x1b[H", b"\x1b[?1049h", b"\x1b]0;a title\x07", b"\x1b[22;0;0t", b"\x1b[1 q"],
)
def test_what_is_drawn_stays(drawn: bytes) -> None:
    assert replayed(drawn, is_cut=False) == drawn
