"""From model values to what is sent, one file per noun. The caller of these functions has checked who may see them.

jobs workers explanations  jobs, their placements, and why a job waits
nodes teams events access  machines, teams, events, tokens and the audit
checkpoints                what jobs have saved, and how often
node_health                the health of machines
times                      moments and durations
"""
