#!/bin/bash
#SBATCH --nodes=2 --time=0:40 --signal=USR1@28 -o step_signal.out
srun python3 -u -c '
import os, signal, sys, time
def leave(number, frame):
    print("rank", os.environ["SLURM_PROCID"], "saves", flush=True)
    sys.exit(0)
signal.signal(signal.SIGUSR1, leave)
time.sleep(100)
'
echo "steps ended with $?"
