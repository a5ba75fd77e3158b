"""The sections of the report, as they follow one another.

summary          every measure of every policy
sweep            what more of something brings
comparison       what changes when the first policy is replaced by another
distributions    how long jobs take and wait
groups           by tier and by team
fairness         finish-time fairness of every job
timelines gantt  the cluster over time, and the busiest day node by node
about            what was simulated
"""
