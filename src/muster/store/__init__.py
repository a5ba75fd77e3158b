"""Where the log is kept: one port and its adapters."""
