"""What the local backend does for trainings.

training_talk       what is said about training: agreements, stacks, runs that are over
agreements          lets the ranks of a gang save or leave at the same step
stack_questions     asks nodes where the processes of a job are
metrics_files       what trainings measured of themselves
checkpoint_errands  what is in the storage of a run
"""
