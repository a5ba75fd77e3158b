"""What a plan does with running jobs that no waiting gang asked to leave.

consolidation   jobs that can resume move together, so that a promised gang starts sooner
gpu_swaps       a new job gets the fast GPUs of a job that is ahead
upgrading       jobs move to faster GPUs that are free
growing         elastic jobs grow into what is left
"""
