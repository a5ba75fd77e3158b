"""Finding jobs, and why one waits.

records          one job: in the view while it lives, in the archive once it has ended
job_list paging  pages of jobs, and cursors
explanations     why a job waits, when it may start, and what would become of a job file
track_record     start estimates that were given, and how they came true
"""
