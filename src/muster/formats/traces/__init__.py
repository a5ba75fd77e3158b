"""Workloads to replay.

trace_file           a trace file <-> `Trace`, plain or packed
trace_csv trace_swf  CSV, and the Standard Workload Format
lines cells          the lines of a file, and one cell of a line
columns              what a column of another name was probably meant to be

`sample.csv` is a made-up week of three teams, for `muster simulate --trace sample`.
"""
