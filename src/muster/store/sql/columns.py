"""The types of columns, the same in every database. Migrations use them too: what they mean never changes."""

from typing import Any

from sqlalchemy import BigInteger, Dialect, Integer, LargeBinary, Text


class Bytes(LargeBinary):
    """Bytes as the driver returns them.

    Nothing is converted: if a damaged file has a number in their place, the row's digest must see that number.
    """

    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        """None, so that nothing is converted."""
        del dialect, coltype


Number = BigInteger().with_variant(Integer(), "sqlite")
"""64 bits in both databases. SQLite uses a key as its row number only if its type is called INTEGER."""

Words = Text().with_variant(Text(collation="C"), "postgresql")
"""Text that is ordered by its bytes, independent of the database's language."""
