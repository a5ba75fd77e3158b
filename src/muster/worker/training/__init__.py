"""What a supervisor does for training: it watches processes through their boards, and shows them announcements.

node_training                 all workers of the node that train: what they report, and how far they are
worker_boards board_file      the boards of one worker, and one board
announcements                 at which step ranks save or leave, as the control plane says
shard_reports metrics_file    what was saved, and what jobs measure of themselves
"""
