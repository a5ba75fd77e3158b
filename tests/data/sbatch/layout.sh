#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --gres=gpu:h100:2
#SBATCH --cpus-per-task=2
#SBATCH --account=research --mail-type=END --mail-user=me@example.org
#SBATCH --output=layout.out
set -eu
echo "$SLURM_NNODES $SLURM_JOB_NUM_NODES $SLURM_NTASKS $SLURM_NTASKS_PER_NODE $SLURM_TASKS_PER_NODE $SLURM_CPUS_PER_TASK"
echo "$SLURM_JOB_ID $SLURM_JOBID $SLURM_JOB_ACCOUNT $SLURM_JOB_PARTITION $SLURM_CLUSTER_NAME $SLURM_GPUS_ON_NODE"
echo "host $SLURMD_NODENAME of $SLURM_JOB_NODELIST user $SLURM_JOB_USER restart $SLURM_RESTART_COUNT"
export MODEL=large
srun -l --cpu-bind=none --mpi=none bash -c \
  'echo "rank $SLURM_PROCID/$SLURM_NTASKS local $SLURM_LOCALID node $SLURM_NODEID $CUDA_VISIBLE_DEVICES $MODEL"'
srun --ntasks-per-node=1 --export=ALL,ROLE=agent bash -c 'echo "agent $SLURM_NODEID of $SLURM_STEP_NUM_NODES $ROLE $MODEL"' | sort
srun --nodes=1 --ntasks=1 -w "$SLURMD_NODENAME" bash -c 'echo "alone on $SLURMD_NODENAME, step $SLURM_STEP_ID of $SLURM_JOB_ID"'
getent hosts "$SLURMD_NODENAME" | awk '{print "resolves to", $1}'
