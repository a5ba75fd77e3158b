"""What runs the engine in a live cluster: the clock, the writer's thread, and what readers can watch.

control_plane              the only thread that calls the engine
configuration              nodes and rules at the start, joined with what was changed at run time
inbox                      requests to that thread, in the order of arrival
door                       requests of users to the engine: checked, done and audited together
clock                      what time it is
publishing                 what was written, brought to readers: events, the view, history, metrics
watching                   what nodes and trainings measure, and the verdicts that follow
saved_states housekeeping  the engine's state saved for the next start, and what is done when no request waits
leadership                 several control planes on one database: the lease, and what a standby does
layout                     the nodes that this machine is used as
node_settings              what nodes are told to measure, and how to run images
engines engine_nodes       engines such as Slurm, and the nodes that they have
address_file logging       where the server is, and its own log
stopping                   how a signal ends the server
"""
