#!/bin/bash
#SBATCH --job-name="Llama 3 8B (ft)=é"
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:2
#SBATCH --cpus-per-task=2
#SBATCH --time=1-00
#SBATCH --output=%x_out
#SBATCH --error=%x_err
#SBATCH --mail-type=END,FAIL
#SBATCH --mail-user=me@example.org
set -euo pipefail
module purge
nodes=( $( scontrol show hostnames "$SLURM_JOB_NODELIST" ) )
head_node=${nodes[0]}
head_node_ip=$(srun --nodes=1 --ntasks=1 -w "$head_node" hostname --ip-address)
echo "${#nodes[@]} nodes, ip ${head_node_ip:+known}, port $((10000 + SLURM_JOB_ID % 20000 > 10000)), $SLURM_GPUS_ON_NODE GPUs"
srun --kill-on-bad-exit=1 bash -c 'echo "rank $SLURM_PROCID of $SLURM_NTASKS, node $SLURM_NODEID sees $CUDA_VISIBLE_DEVICES"' | sort
echo told >&2
