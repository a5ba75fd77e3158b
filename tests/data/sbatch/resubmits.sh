#!/bin/bash
#SBATCH -o chain.out --open-mode=append
# A long training in links: each link submits the next.
set -eu
link=${1:-1}
echo "link $link"
if [ "$link" -lt 2 ]; then sbatch --dependency=afterok:$SLURM_JOB_ID resubmits.sh $((link + 1)) >/dev/null; else touch chain.done; fi
