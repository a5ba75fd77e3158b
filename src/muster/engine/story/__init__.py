"""How a job got where it is.

steps      its part of the log, replayed step by step
verdicts   sentences about ranks that are slow or stand still
sentences  the same in sentences, for users
"""
