"""Everything a worker started: how it is limited, recognised and ended.

process_table  the kernel's table of processes
cgroups        limits, and the surest way to know a tree
trees          everything a worker started, and its end
marks          a limit that limits nothing and says whose a process is
signs          whose a process is, by anything that it inherited
strays         what lives under a node's name and its files do not know
"""
