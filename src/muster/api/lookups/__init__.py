"""Finding jobs, and why a job waits.

records           one job: in the view while it is active, in the archive once it has ended
job_list paging   pages of jobs, and cursors
situation         the copy of the state that answers are worked out from
explanations      why a job waits, when it may start, and dry runs of job files
estimating        when waiting jobs may start, and what that rests on
estimate_history  start estimates that were given, and how well they came true
estimate_file     the same on disk, so that a restart does not lose it
"""
