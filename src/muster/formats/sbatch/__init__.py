"""Batch scripts of Slurm -> job files, with a note on everything that could not be taken over.

sbatch_file          the whole script
options script       its `#SBATCH` lines, and its commands
translation amounts  what each option becomes, and amounts as Slurm writes them
"""
