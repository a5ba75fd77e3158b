"""Everything kept in one SQL database: a SQLite file on one machine, PostgreSQL elsewhere.

columns schema migrations upgrade     what the tables are, and how an older database becomes a newer one
database sqlite postgres failures     connections, the one writer, what a driver's errors mean
digests                               how a row tells that it is what was written
event_log state_store audit_trail tokens job_archive     the ports, one file each
verification                          the walk through all of it
store                                 opens the database and offers them all
"""

from muster.store.sql.store import SqlStore, open_store

__all__ = ["SqlStore", "open_store"]
