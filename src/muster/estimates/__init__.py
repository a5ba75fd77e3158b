"""When waiting jobs may start: the future is played many times, and the answers are corrected by what came true.

training     how fast a job makes progress on its GPUs, and what a stop costs it
sampling     how long jobs may run and what may arrive, drawn from what was learnt
forward      one future: plans are made and carried out until the jobs in question have started
starts       many futures, summed up to a start that is likely and one that is nearly certain
calibration  how wrong earlier estimates were, to correct the next
"""
