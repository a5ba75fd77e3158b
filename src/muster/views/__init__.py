"""Read models: what questions are asked of the log often, kept ready. They can always be made again from it."""
