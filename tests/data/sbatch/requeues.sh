#!/bin/bash
#SBATCH --job-name=requeues
#SBATCH --time=00:01:00
#SBATCH --signal=B:USR1@58
#SBATCH --requeue --open-mode=append
#SBATCH --output=requeues.out
set -u
save_and_ask_for_more() {
  echo "saved in attempt $SLURM_RESTART_COUNT of process ${SLURM_TASK_PID:+known}"
  scontrol requeue "$SLURM_JOB_ID"
  exit 0
}
trap save_and_ask_for_more USR1
if [ "$SLURM_RESTART_COUNT" -gt 0 ]; then
  echo "went on in attempt $SLURM_RESTART_COUNT"
  exit 0
fi
sleep 600 &
wait
