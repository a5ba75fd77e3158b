#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=2
#SBATCH --output=ddp.out
set -eu
export MASTER_ADDR=$(srun -N1 -n1 -w "$SLURMD_NODENAME" hostname -i | awk '{print $1}')
export MASTER_PORT=$PORT WORLD_SIZE=$SLURM_NTASKS OMP_NUM_THREADS=1
srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID exec python3 -u all_reduce.py'
