"""What a worker printed.

segments  on disk: a series of files, each named by the offset of its first byte
budget    how much output all workers may keep together
masking   keeps secrets out of it
terminal  a terminal that several users may watch and type to
"""
