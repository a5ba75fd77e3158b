#!/bin/bash
#SBATCH --export=NONE --gpus=2 --mem-per-gpu=1G -o clean_environment.out
set -u
echo "${MINE:-nothing}, $SLURM_GPUS GPUs, $SLURM_MEM_PER_GPU MB each, ${USER:+a user}, ${LOGNAME:+a name}, ${HOME:+a home}, ${SHELL:+a shell}"
srun sh -c 'echo "step: ${MINE:-nothing}"'
