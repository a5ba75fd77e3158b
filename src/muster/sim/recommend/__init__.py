"""Which settings of the policy suit a history best: `muster simulate --recommend`.

trials          the settings that are tried, one at a time around the present policy
score           the figures of a part of a replay by which settings are compared
comparison      how much better one score is than another, what is worse, and what is too much worse
search          the best setting on one part of the history, and every setting that was tried for it
recommendation  the history in two halves: one to choose on, one to judge on
document        the recommendation as plain values
"""
