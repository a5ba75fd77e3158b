"""The types of columns, the same in every database. Migrations use them too: what they mean never changes."""

from typing import Any

from sqlalchemy import BigInteger, Dialect, Integer, LargeBinary, Text


class Bytes(LargeBinary):
    """Bytes as the driver hands them over.

    Nothing is converted: where a damaged file makes a number of them, the row's digest must see that number.
    """

    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        """None: there is nothing to do."""
        del dialect, coltype


Number = BigInteger().with_variant(Integer(), "sqlite")
"""64 bits in both; SQLite numbers rows by a key only if its type is called INTEGER."""

Words = Text().with_variant(Text(collation="C"), "postgresql")
"""Text that is ordered by its bytes, whatever the language of the database."""
