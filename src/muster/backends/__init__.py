"""The backends, which start processes: one port and its adapters.

base   the port
fake   simulated gangs on a virtual clock
local  real processes on this machine
"""
