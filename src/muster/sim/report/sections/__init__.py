"""The sections of the report, in their order.

summary        every measure of every policy
about          what was simulated
sweep          what more of a quantity brings
overload       what was overloaded for days, who waits, and what would fix it; only if there is something to say
distributions  how long jobs take and wait
timelines      the cluster over time
groups         by tier and by team
fairness       finish-time fairness of every job
gantt          the busiest day node by node
comparison     what changes when another policy replaces the first
"""
