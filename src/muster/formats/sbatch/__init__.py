"""Batch scripts of Slurm -> job files, with a note on everything that could not be taken over.

sbatch_file          the whole script
options              its `#SBATCH` lines, and the options of sbatch, srun and salloc
translation amounts  what each option becomes, and amounts as Slurm writes them
layout               how many workers, and what each of them gets
draft                the job that is being put together
"""
