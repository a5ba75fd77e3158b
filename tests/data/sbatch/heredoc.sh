#!/bin/bash
#SBATCH -n 2 -o heredoc.out
set -euo pipefail
python3 - "$SLURM_JOB_ID" <<'PY'
import os, sys
print("first", sys.argv[1] == os.environ["SLURM_JOB_ID"])
PY
srun python3 - <<'PY'
import os
print("rank", os.environ["SLURM_PROCID"])
PY
cat > config.json <<JSON
{"world": $SLURM_NTASKS}
JSON
cat config.json
