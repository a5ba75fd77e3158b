"""The numbers that sections show, and their texts.

contender                    one policy: its replay, its name and colour, its sorted numbers
pairs                        two policies job by job
quantiles sizes busiest_day  percentiles, classes by size, and the 24 hours with the longest queue
sentences wording            the figures in words
advice                       what to do, in one sentence
overload_words               lasting overload in words
"""
