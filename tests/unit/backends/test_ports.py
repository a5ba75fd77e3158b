"""Two gangs of this machine never have the same port at the same time, and no gang has one that is in use."""

import socket
from collections.abc import Iterator

import pytest

from muster.backends.local.meeting.ports import ReservedPorts
from muster.model.ids import JobId
from muster.model.node_limits import MASTER_PORTS

JOB = JobId("job-of-ports")
NONE: frozenset[int] = frozenset()


@pytest.fixture
def two() -> Iterator[tuple[ReservedPorts, ReservedPorts]]:
    """The ports of two Musters."""
    made = (ReservedPorts(), ReservedPorts())
    yield made
    for each in made:
        each.close()


def test_a_port_is_the_same_for_the_same_attempt_and_never_one_that_is_taken(
    two: tuple[ReservedPorts, ReservedPorts],
) -> None:
    ports, _ = two
    first = ports.choose(JOB, 1, NONE)
    assert MASTER_PORTS[0] <= first < MASTER_PORTS[1]
    assert ports.choose(JOB, 1, NONE) == first
    assert ports.choose(JOB, 1, frozenset((first,))) != first


def test_many_gangs_of_two_musters_that_choose_at_once_all_have_their_own(
    two: tuple[ReservedPorts, ReservedPorts],
) -> None:
    chosen: tuple[list[int], list[int]] = ([], [])
    for number in range(100):
        for ports, own in zip(two, chosen, strict=True):
            own.append(ports.choose(JobId(f"job-{number}"), 1, frozenset(own)))
    assert len({*chosen[0], *chosen[1]}) == 200


def test_a_port_that_a_program_listens_on_is_passed_over(two: tuple[ReservedPorts, ReservedPorts]) -> None:
    ports, other = two
    first = ports.choose(JOB, 1, NONE)
    ports.close()
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with socket.socket(family, socket.SOCK_STREAM) as program:
            program.bind((address, first))
            program.listen()
            assert other.choose(JOB, 1, NONE) not in (0, first)


def test_the_port_of_a_gang_that_is_over_is_given_back(two: tuple[ReservedPorts, ReservedPorts]) -> None:
    ports, other = two
    first = ports.choose(JOB, 1, NONE)
    assert other.choose(JOB, 1, NONE) != first
    ports.choose(JobId("another"), 1, NONE)
    assert other.choose(JOB, 1, NONE) == first


def test_what_nodes_have_kept_is_reserved_again(two: tuple[ReservedPorts, ReservedPorts]) -> None:
    ports, other = two
    first = ports.choose(JOB, 1, NONE)
    ports.close()
    ports.choose(JobId("another"), 1, frozenset((first,)))
    assert other.choose(JOB, 1, NONE) != first
