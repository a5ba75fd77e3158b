#!/bin/bash
#SBATCH -n4 -o programs.out
srun -l --multi-prog programs.conf
echo '0 true' > few.conf
srun --multi-prog few.conf 2>&1 || echo "ended with $?"
