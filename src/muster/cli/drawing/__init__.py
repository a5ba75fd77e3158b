"""Jobs, nodes, teams and plans for people.

table wording                  tables, and how durations, moments and amounts are written
state_words                    words, signs and colours of states and causes
job_list job_card reasons      many jobs, one job, and why a job waits
start_list                     when waiting jobs may start
node_list team_tree            machines and teams
checkpoint_list curve          what a job has saved, and what it measured
health                         the health of machines
event_lines                    one event as one line
plan_text cluster_map          a decision, and the cluster as a picture
"""
