"""One file per group of commands.

submit run job_reading       handing in jobs, and what is sent
jobs story logs attach wait  looking at jobs
changes                      cancelling, holding and changing them
nodes health quarantine teams top   the cluster
events audit export          what happened
access                       people and tokens
plan                         one cycle, offline
"""
