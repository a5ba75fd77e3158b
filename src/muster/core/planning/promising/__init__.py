"""What is promised: a start at a time, on exact GPUs, by the time limits of running jobs.

promises          the earliest start, and whether what was promised still holds
promise_renewal   older promises: renewed, started, or broken with a reason
"""
