"""A limited number of places, such as for streams that are open at once."""

from collections import Counter

from muster.model.errors import TooMany


class StreamLimit:
    """Counts the places that are taken."""

    def __init__(self, most: int, what: str, *, each: int | None = None) -> None:
        """`most` places in all, and `each` for one subject, so that one subject does not take all places."""
        self._most = most
        self._each = most if each is None else each
        self._what = what
        self._taken: Counter[str] = Counter()

    @property
    def taken(self) -> int:
        """How many places are taken."""
        return self._taken.total()

    def enter(self, subject: str) -> None:
        """Take a place. Raises when none is free."""
        if self.taken >= self._most:
            raise TooMany(f"{self.taken} {self._what} are open already; close one, or try again later")
        if self._taken[subject] >= self._each:
            raise TooMany(f"{subject} has {self._each} {self._what} open already; close one, or try again later")
        self._taken[subject] += 1

    def leave(self, subject: str) -> None:
        """Give a place back."""
        self._taken[subject] -= 1
        if not self._taken[subject]:
            del self._taken[subject]
