"""Finding jobs, and why a job waits.

records           one job: in the view while it is active, in the archive once it has ended
job_list paging   pages of jobs, and cursors
explanations      why a job waits, when it may start, and dry runs of job files
estimate_history  start estimates that were given, and how well they came true
"""
