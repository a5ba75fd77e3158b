"""How a job got where it is.

steps      its part of the log, replayed step by step
sentences  the same in sentences, for users
"""
