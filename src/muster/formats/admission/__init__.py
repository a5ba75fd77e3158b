"""Admission rules and profiles: how they are written, and what they make of a job file.

rules        the `admission` part of a configuration
profiles     the `profiles` part, and a job that names one
values       keys of a job file in either of them
merging      two documents in one
expressions  conditions in CEL: checked, compiled and bounded
job_view     a job as rules see it
judging      rules asked about a job, one after another
"""
