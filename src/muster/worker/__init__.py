"""The node supervisor: starts, watches and ends the workers of jobs on one node.

    __main__       the command line; detaches, takes the node's lock
    supervisor     commands in, reports out; the only one who knows all the parts
    loop           one thread: sockets, pipes, timers, children that ended
    service        the unix socket: who may speak, what both sides have not acknowledged
    register       what is known of jobs on this node, as a fold over the journal
    journal        the register's entries on disk
    messages       commands and reports as JSON
    worker_process one worker: its process, output, notices, end
    held_starts    workers that wait until an older attempt of their job is gone
    environment    what a worker finds in its environment
    launching      the command lines
    secret_files   secrets by name
    masking        secrets kept out of logs
    segments       what a worker printed, on disk
    output_budget  how much of that all workers may keep together
    runtime_folder where workers meet what is laid out for them, outside of the home
    marks          a limit that limits nothing and says whose a process is
    signs          whose a process is, by anything that it inherited
    terminal       a worker that somebody may type to
    processes      the kernel's table of processes
    trees          everything a worker started, and its end
    cgroups        limits, and the surest way to know a tree

Knows `model` and the standard library; starts in a tenth of a second and stays small, as there is one per node. What
records are made of (msgspec) is a sixth of that time and a quarter of its memory.
"""
