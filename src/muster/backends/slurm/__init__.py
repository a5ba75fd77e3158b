"""Slurm as an engine underneath Muster. The commands of Slurm on top of Muster are elsewhere, in `muster.slurm`.

engine     the port, by Slurm's own programs
programs   runs them, and tells them from Muster's of the same names
script     the batch job of an allocation
jobs       what squeue says
nodes      what scontrol says of nodes and switches
fields     how both write it
"""
