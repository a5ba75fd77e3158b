"""What an operator configures.

server_file     `muster.toml`
engine_table    what starts processes on nodes where this machine does not, its kinds in `engines`
container_rules how nodes run images
cluster_file    the machines, and in `configured_cluster` those of a server
team_tree       the teams and their quotas
rules           tiers, pools and the policy
rule_merge      a file, what was configured last, and what was changed at run time -> the rules that follow
part_files      teams or a policy in a file by itself
database_url    where a database's password may be written
"""
