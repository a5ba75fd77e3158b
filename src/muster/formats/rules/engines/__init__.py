"""The kinds of entries in the table `engines` of `muster.toml`, each with its own keys.

entry       what entries of every kind say, and those of engines that are asked for nodes
agents      machines elsewhere, on which people start agents
kubernetes  a namespace of a Kubernetes
local       the machine of the server, named beside the others
ray         a Ray cluster
slurm       a partition of Slurm
"""
