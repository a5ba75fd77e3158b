"""The index of free capacity: by node, by topology domain and by what a worker asks for, with overlay and undo.

    tree         the topology as arrays, nodes numbered along it
    node_filter  which nodes a job accepts by their labels and names
    windows      reservations as uses that exclude jobs
    setting      tiers, pools and GPU types, looked up fast
    tenancy      which uses of a node exclude one another
    free_states  what a node has left, interned
    node_use     what a job occupies, node by node
    capacity     what is free, node by node, with forks and roll-backs
    emptied      what would be free if some jobs were gone, kept from plan to plan
    horizons     what is free for jobs of different lengths, while some of it is promised
    slots        how many workers of one ask fit into each node and domain
    gang         a gang as placement sees it
    footprint    from workers to what they occupy

Four ideas make it fast in plain Python:

- Nodes are numbered along the topology tree, so a domain is a range of numbers and ranks follow the network.
- Nodes with equal free capacity share one *free state*. What fits is computed once per state, not per node.
- Changes go through a journal, so that a view of one ask catches up with the changes instead of counting again.
- Every change of a node has a number. Two capacities that have the same number on a node are equal there.
"""
