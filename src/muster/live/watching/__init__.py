"""What nodes and trainings measure, watched on a thread of its own.

monitor                   the thread, and the verdicts that follow
progress_watch            how far trainings are, which ranks are slow, and which jobs stand still
output_watch              when jobs that report no steps last printed anything
hang_reports stack_files  jobs that stand still, reported with the stacks of their ranks
image_watch               images that nodes pull before a promised start
health_watch              verdicts on nodes and GPUs
watches                   all of them, put together
"""
