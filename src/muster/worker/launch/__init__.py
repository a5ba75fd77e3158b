"""What a worker needs before it can be started.

launch_spec     command, environment, folders and limits of one worker
environment     the variables in its environment
command_lines   what its shell runs
runtime_folder  the files that a worker and Muster share, outside of the home
hot_folder      the folder with hot tiers of checkpoints
secret_files    secrets by name
devices         which GPUs of the node are in use
"""
