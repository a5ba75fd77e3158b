"""Jobs, nodes, teams and plans for people.

table wording                  tables, and how durations, moments and amounts are written
state_words                    words, signs and colours of states and causes
job_list job_card reasons      many jobs, one job, and why a job waits
node_list team_tree dashboard  machines, teams, and the cluster on one screen
checkpoint_list curve          what a job has saved, and what it measured
health                         the health of machines
event_lines                    one event as one line
plan_text cluster_map          a decision, and the cluster as a picture
"""
