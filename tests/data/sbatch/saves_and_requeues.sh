#!/bin/bash
#SBATCH --signal=B:USR1@46
#SBATCH --requeue
#SBATCH --time=1:00
#SBATCH --open-mode=append
#SBATCH -o saves_and_requeues.out
leave() {
  kill -TERM "$training"
  wait "$training"
  scontrol requeue "$SLURM_JOB_ID"
  exit 0
}
trap leave USR1
python3 - "$SLURM_RESTART_COUNT" <<'PY' &
import pathlib, signal, sys, time
saved = pathlib.Path("saved")
def save(*_):
    saved.write_text("step 7")
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
print("from", saved.read_text() if saved.exists() else "the beginning", flush=True)
while sys.argv[1] == "0":
    time.sleep(0.1)
PY
training=$!
wait "$training"
