"""The real shell round the engine: the clock, the writer's thread, what others may watch.

clock           what time it is
inbox           what others want done, in the order they asked
control_plane   the only thread that calls the engine
published_log   tells others what was written, once it is
publisher       makes the view that readers see of it
feed            what was written lately, for watchers
attempts        what became of attempts, and of their GPU time
metrics         figures for Prometheus
logging         the server's own log
housekeeping    what is done when nobody waits
saved_states    the engine's state, kept so that a restart need not fold the whole log
"""
