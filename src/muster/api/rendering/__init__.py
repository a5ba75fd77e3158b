"""From model values to what is sent, one file per noun. The caller has checked who may see it.

jobs workers explanations  jobs, their placements, and why one waits
nodes teams events access  machines, teams, what happened, people
times                      moments and lengths of time
"""
