"""Watching jobs until they end.

following     the output and the events of one job
input_sending what the first worker reads
log_printers  ways to print what workers printed
waiting       until jobs have ended
"""
