#!/bin/bash
#SBATCH --array=1-7:2%2
#SBATCH --output=array_%A_%a.log
echo "task $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT from $SLURM_ARRAY_TASK_MIN to $SLURM_ARRAY_TASK_MAX"
port=$((10000 + SLURM_JOB_ID % 20000))
echo "port $((port >= 10000)) array $SLURM_ARRAY_JOB_ID"
[ "$SLURM_ARRAY_TASK_ID" != 5 ] || exit 9
