"""From the log to the state. The same log always folds to the same state.

state                 every job, array and node, and the scheduling snapshot
folding node_folding  what an event makes of it
projection            one job's change edits the snapshot
quarantine            what nodes run that the log does not know
forgetting            jobs that have ended leave the state
restoring             the state as plain values, and back
"""
