"""The backends, which start processes: one port and its adapters.

base       the port
agreement  how all ranks of a gang come to save or leave at the same step (agreement_terms: what they say; gang_ranks:
           what is known of them)
save_pace  when they save next, so that little work is lost
fake       simulated gangs on a virtual clock
local      real processes on this machine, and on others whose agents connect
agents     what those agents connect to
allocations  nodes that an engine gives away for a while: the port to such engines, and what is asked of them
kubernetes  Kubernetes as such an engine
ray        Ray as such an engine
slurm      Slurm as such an engine
"""
