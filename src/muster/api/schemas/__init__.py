"""What is sent and received, one file per noun. Times are RFC 3339 in UTC, durations seconds, memory bytes.

base                  what all schemas have in common
jobs job_file logs    jobs, the job file as JSON Schema, and parts of a log
bundles               which parts of files are asked for
teams rules queue     quotas, rules and totals
admission             admission rules and profiles
history               which part of the history to show
config                a configuration, and how it differs from what is in force
events access health  events, tokens and the audit, and the health of the server
reservations          setting nodes aside
what_if               what may be asked of a simulation
problems checkpoints  problem documents, and which checkpoint is meant
"""
