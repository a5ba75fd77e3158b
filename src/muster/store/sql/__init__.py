"""Everything kept in one SQL database: a SQLite file on one machine, PostgreSQL elsewhere.

store                              opens the database and offers all ports
database shared_database           connections: many readers, at most one writer, whose place another may take
lease fencing                      which control plane may write: the lease of one epoch, checked in every transaction
sqlite file_identity               SQLite, and whether its files are still in place
postgres                           PostgreSQL
failures                           what a driver's errors mean
schema columns                     the tables
migrations upgrade                 how an older database becomes a newer one
digests chains head                digests that reveal changed rows, chains of rows, and where the chains end
event_log state_store job_archive  what the engine stores
audit_trail tokens cluster_record  what the server stores besides
verification                       the check of all of it
"""

from muster.store.sql.store import SqlStore, open_store

__all__ = ["SqlStore", "open_store"]
