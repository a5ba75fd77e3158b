#!/bin/bash
#SBATCH -N 2 -o files.out -e files.err
echo "to out"
echo "to err" >&2
srun -o 'task-%t-%j.txt' -e 'task-%t.err' bash -c 'echo "out of $SLURM_PROCID"; echo "err of $SLURM_PROCID" >&2'
for round in 1 2; do srun -n1 -o steps.txt --open-mode=append echo "round $round"; done
srun -n1 -o none echo hidden
