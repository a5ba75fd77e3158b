#!/bin/bash
#SBATCH -N 2 -o fails.out
srun bash -c 'exit $((SLURM_PROCID + 3))'; echo "highest $?"
srun -n1 bash -c 'kill -SEGV $$'; echo "signal $?"
srun -n1 no-such-program; echo "missing $?"
srun --kill-on-bad-exit=1 bash -c '[ $SLURM_PROCID = 0 ] && exit 5; sleep 100'; echo "killed $?"
srun -N 9 true; echo "refused $?"
srun --het-group=0 true; echo "het $?"
exit 17
