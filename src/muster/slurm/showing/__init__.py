"""What the commands show: jobs and nodes in the words, the fields and the tables of Slurm.

job_rows step_rows node_rows  a job, a step or a node with all that Slurm would say of it
job_fields node_fields        all fields by name: title, width, value
columns                       field formats as users write them, and tables
script_fields                 what is said of the script of a job: its file, where it prints to
record_texts configuration    what `scontrol show` writes
documents                     the same rows as JSON
states                        states, reasons and exit codes in the words of Slurm
job_ids host_lists durations  `7_3`, `n[1-4]` and `1-00:00:00`, both ways
"""
