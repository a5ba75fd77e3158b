"""Where the workers of a gang meet on this machine.

ports                a port that no other gang has
rendezvous_services  what gangs meet at that must outlive their nodes
rendezvous_keeper    what keeps it running; a program of its own
"""
