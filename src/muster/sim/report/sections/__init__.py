"""The sections of the report, in their order.

summary        every measure of every policy
about          what was simulated
sweep          what more of a quantity brings
distributions  how long jobs take and wait
timelines      the cluster over time
groups         by tier and by team
fairness       finish-time fairness of every job
gantt          the busiest day node by node
comparison     what changes when another policy replaces the first
"""
