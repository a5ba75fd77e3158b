"""The free-capacity index: by node, by topology domain and by what a worker asks for, with overlay and undo.

Three ideas make it fast in plain Python:

- Nodes are numbered along the topology tree, so a domain is a range of numbers and ranks follow the network.
- Nodes whose free capacity is equal share one *free state*; what fits is computed once per state, not per node.
- Changes go through a journal, so a view of one request catches up with what changed instead of looking again.
"""
