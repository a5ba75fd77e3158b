"""Files and answers <-> model values. Knows the model and nothing else of Muster.

text       YAML, TOML and JSON as plain values; units and ranges
parts      a part of a file <-> a record, by one declaration
jobs       job files
scenarios  whole situations, and the plan that answers one
rules      cluster, teams, tiers, pools, policy and the server's configuration
sbatch     batch scripts of Slurm
traces     workloads to replay
"""
