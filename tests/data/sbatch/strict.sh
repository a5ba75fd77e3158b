#!/bin/bash
#SBATCH --nodes=1-1 --gpus-per-node=2 --mem=2G
#SBATCH -o strict.out
set -eu
# What torchrun is told, as many READMEs have it, and what reports are headed with.
echo "--nnodes=$SLURM_NNODES --nproc_per_node=$SLURM_GPUS_PER_NODE"
echo "$SLURM_JOB_ACCOUNT $SLURM_JOB_QOS $SLURM_JOB_PARTITION $SLURM_MEM_PER_NODE"
