"""Why a job waits: all reasons at once, what would change each, and when it may start.

explain         the reasons for one job, and its place
not_considered  reasons that have nothing to do with room: held, dependencies, turns in an array, pauses
quota_reasons   limits that it would break, and a guarantee that does not cover it
protection      running jobs that it may not stop, or not yet
departing       running jobs that leave for it, and what they lose
in_line         why a job that would fit waits: strict order, promised quota, GPUs that are kept
place_in_tier   which jobs go first, and how long that can take
wait_bound      how long a job can wait for the jobs in front of it
post_plan       the state after a plan, and why a gang does not fit into it
obstacles       reasons that name one obstacle which could be taken away
shortage        how much a gang lacks, and what is free where it may not go
reserved        what a job is told whose nodes are set aside
earliest        when a job can start at the earliest, whatever happens to the jobs that run
forecast        when a waiting job will start, roughly
wording         times, names and lost work as people say them
background      who has what a job lacks, who borrows, and with which smaller size it would start now
growth          why a running elastic job is not larger
"""
