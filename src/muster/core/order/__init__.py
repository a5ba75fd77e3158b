"""Which job goes next.

queueing            waiting jobs by tier and class, and the order inside a tier
tier_walk           the jobs of one tier in the order in which they are served
quota decay         how much each team uses, what the team tree allows, and how past usage fades
service             the place of a job in its tier: bands of the GPU time it has had, then its age
service_index       when running jobs enter the bands, and which job is next
turn_candidates     which running jobs may be told to leave for a job of their tier, by band
timetable           when running jobs began and are gone, and what of each limit they still use then
quota_forecast      how much of each limit will still be used at a later time, with what a plan adds
preemptibles        running jobs by what decides whether they may be stopped, and at what price
entitlements        the share of the cluster that every job is due over its whole life
fair_service        which jobs would run by now if all were served in the order of submission
run_times pace      how long jobs run, and how fast on which GPU type
throughput          how fast jobs are on which GPU type, learnt from step times; nothing asks it yet
ranks               which job comes first where a policy preempts inside a tier
recent_preemptions  how many jobs of a team were told to leave within the last hour
"""
