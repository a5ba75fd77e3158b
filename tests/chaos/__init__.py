"""Faults on a real server with real supervisors, workers and databases, judged by a ledger that the jobs keep.

`python -m tests.chaos --help` says how to run it; docs/RELIABILITY.md says what it checks.
"""
