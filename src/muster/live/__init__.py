"""What runs the engine in a live cluster: the clock, the writer's thread, and what readers can watch.

control_plane              the only thread that calls the engine
inbox                      requests to that thread, in the order of arrival
door                       requests of users to the engine: checked, done and audited together
clock                      what time it is
published_log publisher    bring what was written to readers, as events and as the view
feed                       the latest events, for watchers
saved_states housekeeping  the engine's state saved for the next start, and what is done when no request waits
monitor                    what nodes measure, watched on a thread of its own, and the verdicts that follow
progress_watch             how far trainings are, which ranks are slow, and which jobs stand still
output_watch               when jobs that report no steps last printed anything
hang_reports stack_files   jobs that stand still, reported with the stacks of their ranks
health_watch               verdicts on nodes and GPUs
attempts metrics           how attempts ended and what their GPU time was used for, and metrics for Prometheus
address_file logging       where the server is, and its own log
"""
