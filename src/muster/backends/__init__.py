"""What starts the processes: one port and its adapters.

base   the port
fake   gangs that only pretend, on a virtual clock
local  this machine
"""
