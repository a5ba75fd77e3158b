"""From the log to the state. The same log always folds to the same state.

state                 every job, array and node, and the scheduling snapshot
folding node_folding  how an event changes the state
projection            brings a job's change into the snapshot
quarantine            workers that nodes run and the log does not know
forgetting            jobs that have ended leave the state
restoring             the state as plain values, and back
"""
