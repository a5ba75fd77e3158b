"""What runs in Pythons that have Ray and nothing of Muster. Neither module imports anything else of Muster.

driver_program   a driver of the cluster, which the server talks to in lines
keeper           what a standing actor on each node does
"""
