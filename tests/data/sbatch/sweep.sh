#!/bin/bash
#SBATCH --array=1-7:2%2
#SBATCH -o sweep/%A_%a_%x.out
#SBATCH -J sweep
rates=(x 0.1 x 0.2 x 0.3 x 0.4)
echo "${rates[$SLURM_ARRAY_TASK_ID]} of $SLURM_ARRAY_TASK_COUNT, $SLURM_ARRAY_TASK_MIN-$SLURM_ARRAY_TASK_MAX:$SLURM_ARRAY_TASK_STEP"
