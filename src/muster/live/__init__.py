"""The real shell round the engine: the clock, the writer's thread, what others may watch.

clock           what time it is
inbox           what others want done, in the order they asked
control_plane   the only thread that calls the engine
published_log   tells watchers what was written
feed            what was written lately, for watchers
census          who runs and waits, counted once for everybody who asks
attempts        what became of attempts, and of their GPU time
metrics         figures for Prometheus
logging         the server's own log
housekeeping    what is done when nobody waits
saved_states    the engine's state, kept so that a restart need not fold the whole log
"""
