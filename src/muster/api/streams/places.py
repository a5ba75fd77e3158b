"""A bounded number of places, such as for streams that are open at once."""

from collections import Counter

from muster.model.errors import TooMany


class Places:
    """Counts who is in."""

    def __init__(self, most: int, what: str, *, each: int | None = None) -> None:
        """So many in all; and so many for each subject, so that one of them does not take the places of all."""
        self._most = most
        self._each = most if each is None else each
        self._what = what
        self._taken: Counter[str] = Counter()

    @property
    def taken(self) -> int:
        """How many are in."""
        return self._taken.total()

    def enter(self, subject: str) -> None:
        """Take a place; raises when there is none."""
        if self.taken >= self._most:
            raise TooMany(f"{self.taken} {self._what} are open already; close one, or try again later")
        if self._taken[subject] >= self._each:
            raise TooMany(f"{subject} has {self._each} {self._what} open already; close one, or try again later")
        self._taken[subject] += 1

    def leave(self, subject: str) -> None:
        """Give it back."""
        self._taken[subject] -= 1
        if not self._taken[subject]:
            del self._taken[subject]
