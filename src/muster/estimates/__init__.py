"""When waiting jobs may start: many futures are simulated, and the estimates are corrected by how earlier ones did.

training     how fast a job makes progress on its GPUs, and what stopping costs it
survival     how long jobs run in all, as those that ended and those that still run let expect
sampling     how long jobs may run and what may arrive, sampled from what was learnt
forward      one future: plans are made and carried out until the jobs in question have started
starts       many futures, summed up to a median start and a start that is nearly certain
calibration  how wrong earlier estimates were, to correct the next
"""
