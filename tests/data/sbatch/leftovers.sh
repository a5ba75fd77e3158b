#!/bin/bash
#SBATCH -N 2 -o leftovers.out
srun sh -c 'echo $$ >"left-$SLURM_PROCID"; exec sleep 1000' &
until [ -s left-0 ] && [ -s left-1 ]; do sleep 0.05; done
echo "gone on"
