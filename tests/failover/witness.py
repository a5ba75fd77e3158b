"""Says of every write to the log which control plane made it and which one led: kept by the database itself.

Each control plane connects with a name of its own (the setting `muster.plane`). A trigger notes that name whenever the
head of the log moves, together with the leader of that moment, in the same transaction.
"""

import json
from dataclasses import dataclass
from urllib.parse import urlsplit

import psycopg

TABLE = """
CREATE TABLE witness (number bigserial, version bigint, epoch bigint, plane text, leader text);
CREATE FUNCTION note_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO witness (version, epoch, plane, leader)
    SELECT NEW.version, c.epoch, current_setting('muster.plane', true), c.leader FROM cluster c;
  RETURN NEW;
END $$;
CREATE TRIGGER note_write AFTER UPDATE ON head FOR EACH ROW EXECUTE FUNCTION note_write();
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One transaction that moved the head of the log."""

    version: int
    epoch: int
    plane: str
    leader: str
    """The name of the control plane that led: its port."""

    @property
    def is_stale(self) -> bool:
        """True when another control plane led than the one that wrote."""
        return self.plane != self.leader


class Witness:
    """The notes of one database."""

    def __init__(self, url: str) -> None:
        self._url = url

    def begin(self) -> None:
        """Note every write from now on. The tables have to be there."""
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(TABLE)

    def writes(self) -> list[Write]:
        """All that was noted, in its order."""
        with psycopg.connect(self._url, autocommit=True) as connection:
            rows = connection.execute("SELECT version, epoch, plane, leader FROM witness ORDER BY number").fetchall()
        return [Write(version=row[0], epoch=row[1], plane=row[2] or "", leader=_name(row[3])) for row in rows]


def _name(leader: str | None) -> str:
    return "" if leader is None else str(urlsplit(json.loads(leader)["url"]).port)
