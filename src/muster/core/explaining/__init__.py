"""Why a job waits: all reasons at once, what would change each, and when it may start.

explain         the reasons for one job
not_considered  reasons that have nothing to do with room: held, dependencies, turns in an array, pauses
place_in_tier   which jobs go first, and how long that can take
wait_bound      how long a job can wait for the jobs in front of it
post_plan       the state after a plan, and why a gang does not fit into it
forecast        when a waiting job will start, roughly
"""
