"""The real shell round the engine: the clock, the writer's thread, what others may watch.

control_plane              the only thread that calls the engine
inbox                      requests to it, in the order in which they came
door                       what people ask of the engine: checked, done and audited together
clock                      what time it is
published_log publisher    what was written reaches readers, as events and as the view
feed                       what was written lately, for watchers
saved_states housekeeping  the engine's state kept for the next start, and what is done when nothing waits
attempts metrics           what became of attempts and of their GPU time, and figures for Prometheus
announcement logging       where the server is, and its own log
"""
