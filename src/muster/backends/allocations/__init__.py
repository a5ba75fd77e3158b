"""Nodes that an engine such as Slurm gives away for a while, with an agent on each for as long.

engine               the port: inventory, submit, cancel, look
adapter              what the adapters of engines have in common
allocation register  one allocation; all of them, and the links to their posts
posts link           where one supervisor serves, and the link to one in an allocation
book                 their records in the home
requests calls       what engines are asked for, and how they are asked without waiting
delivery             how agents come to nodes, and what starts them there
allocations          what happens to them: asked for, watched, explained, ended
doubts               exits that wait for the engine's word
lost_output          says what of the output of workers has not come
node_watch           the nodes of engines
"""
