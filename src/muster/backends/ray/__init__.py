"""Ray as an engine underneath Muster.

engine      the port, by a driver
driver      the process that talks to Ray, because the server imports no Ray
nodes       what Ray says of nodes
seen        what keepers say of allocations
script      what a keeper runs on a node
on_ray      what runs with Ray: the driver's program, and the keeper of a node
"""
