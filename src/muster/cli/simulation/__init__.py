"""`muster simulate`: replay a trace under one or several policies and compare the outcomes of the jobs.

simulate                   the command
setup policies             from its options to what is replayed, and under which policies
progress                   one replay, with a bar
recommend                  --recommend: which settings would have been better
recommendation_text        its answer for people
figures_table notes facts  the figures, notes on them, and what was asked for
overload_text              what was overloaded for days
"""
