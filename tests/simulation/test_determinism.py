"""The same trace and seed give the same log, in every process."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def printed(hash_seed: str) -> list[str]:
    command = [sys.executable, "-m", "tests.simulation.printed_hashes"]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def test_the_hash_of_a_replay_does_not_depend_on_the_process() -> None:
    first, second = printed("1"), printed("2")
    assert first == second
    assert all(len(each) == 64 for each in first)
