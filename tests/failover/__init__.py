"""Two real control planes on one PostgreSQL: the leader is killed, stopped, cut off or loses its database, and a ledger
that the jobs keep says whether anything was lost, run twice or disturbed.

`python -m tests.failover --tries 20 --seed 1`
"""
