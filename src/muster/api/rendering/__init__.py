"""From model values to what is sent, one file per noun. The caller of these functions has checked who may see them.

jobs workers explanations  jobs, their placements, and why a job waits
estimates sentences        when jobs may start, what that rests on, and both in plain sentences
nodes teams events access  machines, teams, events, tokens and the audit
effects                    what admission rules did to jobs
ranks                      how fast the ranks of a training are
checkpoints                what jobs have saved, and how often
node_health                the health of machines
troubles                   what is wrong with machines and jobs
history                    what was used and wanted over time
traces what_if             jobs as a trace has them, and simulations
times                      moments and durations
"""
