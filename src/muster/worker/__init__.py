"""The node supervisor: starts, watches and ends the workers of jobs on one node.

    __main__          the command line; detaches, takes the node's lock
    supervisor        commands in, reports out; the only module that knows all the parts
    loop              one thread: sockets, pipes, timers, children that ended
    control_presence  whether a control plane is there and decides
    greeting          what it says about itself when a control plane connects
    service messages  the unix socket, and commands and reports as JSON
    worker_pool       all workers of the node
    worker_reports    that workers have started or ended
    worker_beginning  its first moment
    worker_process    one worker: its process, output, notices, end
    containers        the container runtime of the node, images, and what is run in containers
    image_waits       starts that wait for an image
    launch            what a worker needs before it can be started
    agent             brings a supervisor to another machine, and connects it with the control plane
    program           how a node runs another program of Muster
    supervisor_address  where the supervisor of a node is
    bundles           working directories that were submitted with jobs, stored by content
    gang              a remote shell between the workers of one gang, for MPI and for batch scripts
    processes         everything a worker started: how it is limited, recognised and ended
    output            what a worker printed
    records           what is known about jobs on this node, kept on disk
    terminals         what people type, and send to programs on this node
    last_output       what was printed is sent before a supervisor of an allocation ends
    held_starts       workers that wait until an older attempt of their job is gone
    deadlines         when a supervisor acts by itself
    probes            what the node measures about its own health
    notices           what a program reports about its training
    training          how far processes are, what they saved, and at which step they save or leave

Imports `model`, the small shared modules of Muster, what it shares with `train` (boards and the names of folders), and
the standard library. It starts in a tenth of a second and stays small, because there is one per node. The library of
records (msgspec) takes a sixth of that time and a quarter of its memory. An agent does without it.
"""
