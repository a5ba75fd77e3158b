"""One file per group of commands.

submit run job_reading             handing in jobs, and what is sent
jobs story wait                    looking at jobs
logs stacks attach execute         what their processes print and do, and commands beside them
checkpoints curve                  what jobs have saved, and what they measured
changes                            cancelling, holding and changing them
nodes health quarantine teams top  the cluster
agents                             machines elsewhere that become nodes
rules admission config             how it decides, what jobs pass, and a file that says so
reservations                       nodes that are set aside
events audit export                what happened
access browser                     people and tokens, and signing in with a browser
slurm                              the commands of Slurm
plan                               one cycle, offline
"""
