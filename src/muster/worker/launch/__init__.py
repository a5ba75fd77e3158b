"""What a worker needs before it can be started.

launch_spec     command, environment, folders and limits of one worker
checkpoint_path where its checkpoints are kept for good
environment     the variables in its environment
frameworks      how the processes of a gang find each other: each launcher's variables and command
shell_lines     which program the line of a job runs
command_lines   what its shell runs
setup_records   what is remembered about `setup`, so that it runs once on a node
working_copies  the files that were submitted with a job, unpacked for its workers
training_path   the folder that puts `muster.train` on Python's path
batch_jobs      what a batch job needs: its allocation, and the commands of Slurm on its path
slurm_variables the variables that Slurm sets
runtime_folder  the files that a worker and Muster share, outside of the home
ray_gangs       what makes the workers of a gang the nodes of a Ray cluster
secret_files    secrets by name
contained       the container of a worker, for jobs with an image
devices         which GPUs of the node are in use
"""
