"""What would be otherwise: simulations that a server runs for its operators.

questions    what is asked, from what the server knows -> two settings and the jobs to replay
changes      the rules and the cluster of today with changes
simulations  the processes that simulate, one after another, with limits on everything
"""
