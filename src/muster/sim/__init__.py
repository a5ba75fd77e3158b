"""The simulated shell: the production engine under a virtual clock, in a world of traces and faults.

replay run                         one trace under one policy, from its files to its outcome, and the loop inside
world agenda                       a backend whose jobs train on a virtual clock, and what is to happen to them
submissions synthesis time_limits  a job of a trace as its user would have submitted it, with what the trace lacks
faults node_faults                 how often things go wrong, and what happens to nodes
hashed_log                         the log of a replay, known by its hash
outcome timeline                   what became of the jobs, and of the cluster over time
measures fairness fragmentation    the figures
variation quantity                 the same replay with one thing different each time
report                             one HTML page that shows it all
campaign                           the fault campaign
"""
