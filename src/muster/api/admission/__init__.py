"""Admission rules, asked on the server about every job that is submitted.

entry           a job on its way in: profile, rules, and the job that follows
judges          the rules in their order, with plug-ins in between, and what becomes of a rule that cannot be judged
checking        what only the server can say of rules
messages        what the two say to each other
judge_process   one process that is asked, with a limit of time
__main__        the process itself
history         rules tried on jobs that were submitted before
"""
