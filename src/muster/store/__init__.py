"""Where the log is kept: ports and their adapters.

base    the ports
codec   events and records as bytes, by the types of the model
memory  in memory, for simulation and tests
sql     in SQLite or PostgreSQL
"""
