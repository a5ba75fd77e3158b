"""Which ranks of a training are slow, and whether it stands still. Pure: values in, verdicts out.

peers        ranks that do the same work, compared round by round: which of them is persistently slow
attempt      all ranks of one attempt: who is whose peer, and what is found
hangs        whether a training stands still, and which ranks are to blame
step_times   how long steps take, over the last minutes
node_speeds  how fast nodes were compared with their peers, job after job
"""
