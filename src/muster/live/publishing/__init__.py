"""What was written, brought to readers.

published_log publisher  the append, and the next view after it
feed                     the latest events, for watchers
history_keeper           what was used and wanted over time, kept up to date and read
attempts metrics         how attempts ended and what their GPU time was used for, and metrics for Prometheus
"""
