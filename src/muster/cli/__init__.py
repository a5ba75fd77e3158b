"""The command line.

main        all commands, and what their exit codes mean
commands    one file per group of commands
drawing     jobs, nodes, teams and plans for people
following   watching jobs until they end
simulation  `muster simulate`
server      `muster up`, `down` and `demo`
terminal    where commands print and read: options, screen, exit codes
"""
