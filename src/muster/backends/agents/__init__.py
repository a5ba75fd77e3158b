"""What agents of nodes on other machines connect to. They connect by themselves.

switchboard      which agents are connected, and how one is asked for another connection
mirrored_files   what workers elsewhere print and measure, copied into the home
"""
