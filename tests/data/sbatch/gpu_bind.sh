#!/bin/bash
#SBATCH -N2 --ntasks-per-node=2 --gpus-per-node=2 --gpu-bind=single:1 -o gpu_bind.out
#SBATCH --hint=nomultithread --acctg-freq=30 --distribution=block:block
srun -l sh -c 'echo $CUDA_VISIBLE_DEVICES' | sort
