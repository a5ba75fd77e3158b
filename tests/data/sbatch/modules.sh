#!/bin/bash -l
#SBATCH --output=modules.out
#SBATCH --error=modules.err
set -e
module purge
module load cuda/12.1 nccl
srun echo "after the modules"
