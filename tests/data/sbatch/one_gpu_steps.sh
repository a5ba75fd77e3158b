#!/bin/bash
#SBATCH -n 4 -c 1 --gpus-per-task=1 --mem-per-cpu=100M
#SBATCH -o one_gpu_steps.out
# Four trainings side by side, each on a GPU of its own: they wait for each other, so none may run alone.
for seed in 1 2 3 4; do
  srun --exclusive -N1 -n1 --gpus=1 bash -c "touch one_gpu_$seed; until [ \$(ls one_gpu_? | wc -l) = 4 ]; do sleep 0.1; done; echo \$CUDA_VISIBLE_DEVICES" &
done
wait
