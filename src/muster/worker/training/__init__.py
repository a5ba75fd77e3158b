"""What a supervisor does for training: it watches processes through their boards, and shows them announcements.

node_training                 all workers of the node that train: what they report, and how far they are
training_worker               one of them, and where its reports go
worker_boards board_file      the boards of one worker, and one board
announcements                 at which step ranks save or leave, as the control plane says
shard_reports upload_reports  what was saved, and what was copied to durable storage
report_rate                   how often a job may report on its checkpoints
metrics_file                  what jobs measure of themselves
uploads                       a process for each job that copies its checkpoints
hot_tier runs_over            the checkpoints on the node's disk, and when they are removed
stack_dumps                   where processes are, when they are asked
"""
