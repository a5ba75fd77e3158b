"""Everything a worker started: how it is limited, recognised and ended.

spawning         starts a process that belongs to a worker
process_table    the kernel's table of processes
cgroups          limits, and the surest way to know a process tree
trees            everything a worker started, and its end
marks            an inherited limit without effect, which tells the worker of a process
job_signals      which processes get a signal that a user sends to a job
signs            the worker of a process, by anything that it inherited
companions       processes that the supervisor runs for itself
bounded_command  one of them that has a time limit, and what it printed
strangers        children of a supervisor that no worker is known to have started
strays           living processes of a node that its files do not know
"""
