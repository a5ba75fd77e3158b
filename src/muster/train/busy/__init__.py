"""How long each rank is busy itself in a step: the step without its waiting for other ranks.

    busy_time    what measures it, and which kind a model needs
    run_delays   how long a thread waited for a processor
    waits        the places at which torch waits for other ranks, whichever collective it is
    replicas     the waiting inside of DistributedDataParallel, which is not in Python
    own_time     the step without its waits, by the clock
    gpu_time     the same on the timeline of a GPU, by its events

Read `busy_time` first.
"""
