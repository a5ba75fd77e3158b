#!/bin/bash
#SBATCH --job-name=Sweep_A
#SBATCH --output=%x-%j.out
#SBATCH --time=10
# Its author passes settings as arguments, and overrides the name on the command line.
set -euo pipefail
lr=${1:?a learning rate}
shift
echo "job $SLURM_JOB_NAME lr=$lr rest=$*"
echo "script $(basename "$0") in $(pwd -P)"
cd "$SLURM_SUBMIT_DIR" && pwd -P
