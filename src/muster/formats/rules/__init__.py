"""What an operator configures.

server_file     `muster.toml`
cluster_file    the machines
team_tree       the teams and their quotas
rules           tiers, pools and the policy
part_files      teams or a policy in a file by itself
database_url    where a database's password may be written
"""
