#!/bin/bash
#SBATCH -N2 --ntasks-per-node=1 -o broadcast.out
printf '#!/bin/sh\necho "hello from $SLURM_PROCID"\n' > broadcast_program
chmod 755 broadcast_program
sbcast broadcast_program "$PWD/on_all_nodes" && srun "$PWD/on_all_nodes" | sort
sbcast broadcast_program "$PWD/on_all_nodes" 2>/dev/null || echo "is there"
sbcast -f broadcast_program "$PWD/on_all_nodes" && echo replaced
sbcast missing /nowhere 2>&1
true
