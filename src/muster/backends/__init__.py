"""What starts the processes: one port and its adapters."""
