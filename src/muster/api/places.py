"""A bounded number of places, such as for streams that are open at once."""

from muster.model.errors import TooMany


class Places:
    """Counts who is in."""

    def __init__(self, most: int, what: str) -> None:
        self.taken = 0
        """How many are in."""
        self._most = most
        self._what = what

    def enter(self) -> None:
        """Take a place; raises when there is none."""
        if self.taken >= self._most:
            raise TooMany(f"{self.taken} {self._what} are open already; close one, or try again later")
        self.taken += 1

    def leave(self) -> None:
        """Give it back."""
        self.taken -= 1
