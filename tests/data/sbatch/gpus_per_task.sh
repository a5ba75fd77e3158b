#!/bin/bash
#SBATCH --ntasks=4 --gpus-per-task=1
#SBATCH -o per_task.out
echo "batch sees ${CUDA_VISIBLE_DEVICES:-none}" >/dev/null
srun bash -c 'echo "$SLURMD_NODENAME:$CUDA_VISIBLE_DEVICES"' | sort -u | wc -l
srun -n2 --gpus-per-task=1 bash -c 'echo "${CUDA_VISIBLE_DEVICES/,/x}"' | grep -c x || true
