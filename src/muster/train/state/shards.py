"""Arrays of which each rank holds a part, so that another number of ranks can take them over."""

from typing import Any


class Shard:
    """The part that this rank has of an array that is cut along one axis, in the order of the ranks.

    At another number of ranks the whole is cut anew, as evenly as possible and the larger parts first, and `array` is
    replaced by the new part.
    """

    def __init__(self, array: Any, axis: int = 0) -> None:
        if not -len(array.shape) <= axis < len(array.shape):
            raise ValueError(f"an array with {len(array.shape)} axes has no axis {axis} to be cut along")
        self.array = array
        self.axis = axis % len(array.shape)


def cut(total: int, rank: int, world: int) -> tuple[int, int]:
    """Where the part of a rank begins and ends."""
    size, larger = divmod(total, world)
    begin = rank * size + min(rank, larger)
    return begin, begin + size + (rank < larger)


def overlaps(lengths: list[int], begin: int, end: int) -> list[tuple[int, int, int]]:
    """Which pieces of which old parts lie between two places: (rank, from, to) inside each part."""
    found = []
    start = 0
    for rank, length in enumerate(lengths):
        low, high = max(begin, start), min(end, start + length)
        if low < high:
            found.append((rank, low - start, high - start))
        start += length
    return found
