"""The command line.

main             the program, and what its exit codes mean
command_table    which file has which command
commands         one file per group of commands
drawing          jobs, nodes, teams and plans for people
following        watching jobs until they end
simulation       `muster simulate`
server           `muster up`, `down` and `demo`
slurm_launchers  the programs that `muster slurm install` writes
top              `muster top`: the cluster on one screen
terminal         where commands print and read: options, screen, exit codes
"""
