"""What is sent and received, one file per noun. Times are RFC 3339 in UTC, durations seconds, memory bytes."""
