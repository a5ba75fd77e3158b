"""The commands of Slurm, as thin layers on `muster.client`.

    __main__                      `python -m muster.slurm NAME …`, which the launchers start
    sbatch srun salloc            run things: a script, a command, anything in an allocation
    submitting                    a script with its options as the job that is sent
    srun_job                      an `srun` outside an allocation
    steps sbcast                  an `srun` in an allocation, and a file for all its nodes
    immediate                     `--immediate`: what does not start in time is not wanted
    waiting                       how a job ended, in exit codes
    squeue sacct sinfo            ask for jobs and nodes
    sacctmgr sshare               ask for accounts, which are teams
    scancel scontrol              end and change jobs, and show anything
    asking                        jobs as they are asked for: by id, user, name, state
    showing                       jobs and nodes in the words, the fields and the tables of Slurm
    options                       options as Slurm reads them, and its errors

A job `job-7` is job 7 here, a task `job-7.3` is 7_3, a team is an account, a tier is a QOS and a pool is a partition.
"""

from muster.cli.terminal.connection import leave_out_other_command_lines

leave_out_other_command_lines()  # here, because every command imports this package before the client
