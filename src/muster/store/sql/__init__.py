"""Everything kept in one SQL database: a SQLite file on one machine, PostgreSQL elsewhere.

store                              opens the database and offers all ports
database                           connections: many that read, at most one that writes
sqlite place                       SQLite, and where its file lies
postgres                           PostgreSQL
failures                           what a driver's errors mean
schema columns                     the tables
migrations upgrade                 how an older database becomes a newer one
digests chains head                rows that tell whether they were changed, chained, and where the chains end
event_log state_store job_archive  what the engine keeps
audit_trail tokens cluster_record  what the server keeps besides
verification                       the walk through all of it
"""

from muster.store.sql.store import SqlStore, open_store

__all__ = ["SqlStore", "open_store"]
