"""Nodes on other machines, whose agents connect to the control plane by themselves.

agent_link       the link to one such node
switchboard      which agents are connected, and how one is asked for another connection
mirrored_files   what workers elsewhere print and measure, copied into the home
"""
