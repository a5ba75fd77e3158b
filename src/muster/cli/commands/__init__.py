"""One file per group of commands.

submit run job_reading             handing in jobs, and what is sent
jobs story wait                    looking at jobs
logs stacks attach                 what their processes print and do
checkpoints curve                  what jobs have saved, and what they measured
changes                            cancelling, holding and changing them
nodes health quarantine teams top  the cluster
events audit export                what happened
access                             people and tokens
plan                               one cycle, offline
"""
