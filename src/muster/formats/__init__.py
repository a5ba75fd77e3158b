"""Files and answers <-> model values. Of Muster it knows only the model and `annotations`.

text       YAML, TOML and JSON as plain values; units and ranges
parts      a part of a file <-> a record, by one declaration
jobs       job files
scenarios  whole situations, and the plan that answers a scenario
admission  admission rules, their conditions, and profiles
rules      cluster, teams, tiers, pools, policy and the server's configuration
sbatch     batch scripts of Slurm
traces     workloads to replay
"""
