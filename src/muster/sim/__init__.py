"""The simulator: the production engine under a virtual clock, in a world of traces and faults.

replay run                         one trace under one policy, from its files to its outcome, and the loop inside
world agenda                       a backend whose jobs train on a virtual clock, and the events to come
submissions synthesis time_limits  a job of a trace as its user would have submitted it; fills in what the trace lacks
speeds                             how fast jobs run on each GPU type
faults node_faults                 how often things go wrong, and what happens to nodes
hashed_log                         the log of a replay, identified by its hash
outcome timeline                   what happened to the jobs, and to the cluster over time
measures fairness fragmentation    the figures
overload fluid overload_figures    what was overloaded for days: demand against capacity, and the figures of it
variation quantity                 the same replay with one quantity different each time
recommend                          which settings of the policy suit a history best
what_if                            a process that answers one question of a server
report                             one HTML page that shows it all
campaign                           the fault campaign
"""
