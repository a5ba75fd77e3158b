"""The training of the demo, in plain Python: each rank fits a curve to its own part of the data, and survives.

The four lines with `checkpoints` are all it takes. `examples/survive/train.py` does the same with PyTorch.
"""

import math
import os
import sys
import time
from random import Random

from muster.train import Checkpointer

STEPS = 140
STEP_S = 0.12
TERMS = 6
POINTS = 60
RATE = 0.12


def main() -> int:
    """Train, from the newest checkpoint on."""
    rank = int(os.environ.get("MUSTER_RANK", "0"))
    chance = Random(rank)
    data = [(x := chance.uniform(-1, 1), math.sin(3 * x) + chance.gauss(0, 0.05)) for _ in range(POINTS)]
    state = {"weights": [0.0] * TERMS}
    with Checkpointer() as checkpoints:
        step = checkpoints.restore(state)
        _say(f"rank {rank} on {os.environ.get('MUSTER_NODE')} begins at step {step}")
        while step < STEPS:
            loss = train_one(state["weights"], data)
            time.sleep(STEP_S)
            step += 1
            if step % 20 == 0:
                _say(f"step {step} of {STEPS}, loss {loss:.4f}")
            if not checkpoints.step(step, state, loss=loss):
                _say(f"saved at step {step}, and leaving")
                return 0
    return 0


def train_one(weights: list[float], data: list[tuple[float, float]]) -> float:
    """One step of gradient descent on a polynomial; changes the weights, and returns the loss."""
    slopes, loss = [0.0] * TERMS, 0.0
    for x, y in data:
        powers = [x**power for power in range(TERMS)]
        miss = sum(weight * value for weight, value in zip(weights, powers, strict=True)) - y
        loss += miss * miss / len(data)
        for term, value in enumerate(powers):
            slopes[term] += 2 * miss * value / len(data)
    for term, slope in enumerate(slopes):
        weights[term] -= RATE * slope
    return loss


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
