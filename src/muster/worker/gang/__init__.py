"""A remote shell between the workers of one gang: a script runs in the first worker, what it starts in all of them.

`mpirun` uses it instead of `ssh`, and `srun` to start the processes of its steps. A process that is started beside a
worker is a child of that worker, so limits and kills hold for it, and it finds that worker's environment. All meet in a
folder that only this user can open, the box. It needs the standard library alone.

    __main__                what workers run: lead, wait, run, step
    hub                     the first worker: the script, and the post office of the gang
    companion               every other worker: runs what it is sent
    script                  a batch script: its interpreter, its output files, the signal that announces its end
    allocation              what a batch job was given, and which steps have what of it; pure
    step_layout             where the tasks of a step go; pure
    step_daemon             the tasks of one step beside one worker
    task_input              what one of them reads
    step_records            which steps there were and how they ended, in a file
    process_usage           how a process ended, and what it used
    mpi                     what only MPI needs
    ray_gang ray_node       a Ray cluster of the gang: how workers meet, and the node in each
    line                    connections and their messages
    started_commands        commands that run beside a worker
    file_names host_names   patterns in names of output files, and names of nodes that resolve
    node_lists              nodes as Slurm writes them
    process_list            all processes of this machine
    program                 the command line of __main__
"""
