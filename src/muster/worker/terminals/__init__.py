"""What people type, and send to programs on a node.

terminal_viewers  people who watch the terminal of a worker, or send what it reads
side_commands     commands that people run beside a worker
worker_input      what a worker reads, sent by a user from elsewhere
piped_input       the pipe to it, and to a command beside it
"""
