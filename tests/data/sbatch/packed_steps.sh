#!/bin/bash
#SBATCH --nodes=1 --ntasks=3 --gpus-per-node=3
#SBATCH -o packed.out
# More runs than places: each step gets a GPU of its own, and the rest wait for one.
for seed in 1 2 3 4 5; do
  srun --ntasks=1 --gpus=1 --exclusive --quiet bash -c "sleep 0.2; echo run $seed gpus \$(tr , '\n' <<<\$CUDA_VISIBLE_DEVICES | wc -l)" &
done
wait
srun --overlap -n1 echo monitor &
srun -n3 bash -c 'echo busy' | wc -l
wait
