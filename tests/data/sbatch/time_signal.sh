#!/bin/bash
#SBATCH --time=0:40 --signal=B:USR1@34 --requeue --open-mode=append
#SBATCH -o time_signal.out
save() { echo "saved before the limit"; kill "$trainer"; wait "$trainer"; exit 0; }
trap save USR1
srun sleep 100 &
trainer=$!
wait "$trainer"
