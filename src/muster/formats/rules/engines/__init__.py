"""The kinds of entries in the table `engines` of `muster.toml`, each with its own keys.

entry       what entries of every kind say, and those of engines that are asked for nodes
agents      machines elsewhere, on which people start agents
kubernetes  a namespace of a Kubernetes
ray         a Ray cluster
slurm       a partition of Slurm
"""
