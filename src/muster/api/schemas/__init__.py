"""What is sent and received, one file per noun. Times are RFC 3339 in UTC, durations seconds, memory bytes.

base                  what all schemas have in common
jobs job_file logs    jobs, the job file as JSON Schema, and which part of a log
teams rules queue     quotas, rules and totals
events access health  what happens, people, and whether all is well
problems              problem documents
"""
