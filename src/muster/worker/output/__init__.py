"""What a worker printed.

segments  on disk: a few files in a row, each named by the offset of its first byte
budget    how much of that all workers may keep together
masking   secrets kept out of it
terminal  a terminal that several people may look at and type to
"""
