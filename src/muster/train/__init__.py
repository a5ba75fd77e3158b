"""What training code imports: checkpoints that survive, progress, and being asked to leave.

    board   the page of memory that a training process shares with the supervisor of its node

Standard library only until the state holds tensors, and nothing else of Muster: supervisors put this package on the
path of every worker. It runs on Python 3.10 and newer, because training images are older than control planes.
"""
