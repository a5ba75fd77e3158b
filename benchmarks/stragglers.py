"""How soon a slow rank is named, and how often one that is not slow: `python -m benchmarks.stragglers`.

Random trainings: each rank reports about once a second the median busy time of the steps since its last report, at its
own moment within the second. The limits were chosen on the seeds below `TUNING`; the tables are of other seeds.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

from muster.core.stragglers.peers import PeerGroup

RANKS, RATES = (2, 4, 16), (0.5, 10.0)
"""The sizes of trainings, and how many steps they make in a second."""

TUNING = 1_000
"""Seeds below this one were used to choose the limits."""

BUSY_US = 100_000

Noise = Callable[[random.Random], float]
Slowness = Callable[[int, int], float]
"""How many times longer a rank takes at a step."""


def uniform(source: random.Random) -> float:
    """± 10 %."""
    return source.uniform(0.9, 1.1)


def gaussian(source: random.Random) -> float:
    """A standard deviation of 10 %."""
    return max(source.gauss(1.0, 0.1), 0.1)


def spikes(source: random.Random) -> float:
    """± 10 %, and one step in fifty takes up to twenty times as long."""
    return uniform(source) * (source.uniform(2, 20) if source.random() < 0.02 else 1)


def pareto(source: random.Random) -> float:
    """A heavy tail: one step in a hundred takes three times as long, one in ten thousand ten times."""
    return 0.9 + 0.1 * source.paretovariate(1.5)


def coarse(source: random.Random) -> float:
    """A standard deviation of 25 %."""
    return max(source.gauss(1.0, 0.25), 0.1)


NOISES: dict[str, Noise] = {
    "uniform 10 %": uniform,
    "gaussian 10 %": gaussian,
    "spikes": spikes,
    "heavy tail": pareto,
    "gaussian 25 %": coarse,
}


ORDINARY = ("uniform 10 %", "gaussian 10 %", "spikes")
"""The noise of ordinary trainings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One training: which ranks were named at which step."""

    named: tuple[tuple[int, int], ...]
    steps: int


def training(
    *, ranks: int, steps: int, per_second: float, noise: Noise, seed: int, slowness: Slowness | None = None
) -> Trial:
    """Play a synchronous training: all ranks begin each step together and wait for the slowest."""
    source, group = random.Random(seed), PeerGroup()
    phases = [source.random() for _ in range(ranks)]
    kept: list[list[int]] = [[] for _ in range(ranks)]
    next_s = [1.0 + phase for phase in phases]
    named: list[tuple[int, int]] = []
    known: frozenset[int] = frozenset()
    now_s, looks_s = 0.0, 1.0
    for step in range(1, steps + 1):
        busy = [noise(source) * (slowness(rank, step) if slowness else 1.0) for rank in range(ranks)]
        now_s += max(busy) / per_second
        for rank, each in enumerate(busy):
            kept[rank].append(int(each * BUSY_US))
        for rank in range(ranks):
            if now_s >= next_s[rank]:
                next_s[rank] = now_s + 1.0
                group.note(rank, len(kept[rank]), int(statistics.median(kept[rank])), int(now_s * 1000))
                kept[rank].clear()
        if now_s >= looks_s:
            looks_s = now_s + 1.0
            if group.weigh(int(now_s * 1000)):
                present = frozenset(each.rank for each in group.slow)
                named += [(rank, step) for rank in sorted(present - known)]
                known = present
    return Trial(named=tuple(named), steps=steps)


def one_slow(slow: float, begin: int) -> Slowness:
    """The first rank is slower from a step on."""
    return lambda rank, step: slow if rank == 0 and step >= begin else 1.0


def latency(ranks: int, per_second: float, noise: Noise, seeds: range, slow: float) -> tuple[list[int], int]:
    """The steps until the slow rank was named in each trial where it was; and how many others were named."""
    begin, wanted, wrong = 101, list[int](), 0
    for seed in seeds:
        trial = training(
            ranks=ranks, steps=400, per_second=per_second, noise=noise, seed=seed, slowness=one_slow(slow, begin)
        )
        wanted += [step - begin + 1 for rank, step in trial.named if rank == 0 and step >= begin][:1]
        wrong += sum(rank != 0 or step < begin for rank, step in trial.named)
    return wanted, wrong


def false_alarms(ranks: int, per_second: float, noise: Noise, seeds: range, slowness: Slowness | None = None) -> int:
    """How many ranks were named in trainings in which none is slow for itself."""
    return sum(
        len(training(ranks=ranks, steps=10_000, per_second=per_second, noise=noise, seed=seed, slowness=slowness).named)
        for seed in seeds
    )


def all_slow(_: int, step: int) -> float:
    """Everybody is three times slower, again and again."""
    return 3.0 if step // 150 % 2 else 1.0


def half_slow(rank: int, step: int) -> float:
    """Every second rank waits for its input, for 150 steps at a time."""
    return 2.5 if step // 150 % 2 and rank % 2 else 1.0


def compiling(rank: int, step: int) -> float:
    """The first steps compile, longer on rank 0, and every thousandth step compiles anew."""
    return (60.0 if rank == 0 else 20.0) if step % 1000 < 6 else 1.0


STALLS: dict[str, Slowness | None] = {
    "noise alone": None,
    "all slow at times": all_slow,
    "half slow at times": half_slow,
    "compiling": compiling,
}


def cost_ms(ranks: int) -> float:
    """What one round of a large world costs."""
    group, source = PeerGroup(), random.Random(TUNING)
    began = time.perf_counter()
    rounds = 5
    for second in range(rounds):
        for rank in range(ranks):
            group.note(rank, 10, int(gaussian(source) * BUSY_US), second * 1000)
        group.weigh(second * 1000)
    return (time.perf_counter() - began) * 1000 / rounds


def main(arguments: list[str]) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tuning", action="store_true", help="the seeds that the limits were chosen on")
    parser.add_argument("--trials", type=int, default=20)
    given = parser.parse_args(arguments)
    first = 0 if given.tuning else TUNING
    print_latencies(range(first, first + given.trials))
    print_false_alarms(range(first, first + max(given.trials // 5, 1)))
    print(f"One round of 10,000 ranks: {cost_ms(10_000):.0f} ms.")


def print_latencies(seeds: range) -> None:
    """How soon the slow rank is named."""
    print("| ranks | steps/s | noise | slower by | named | steps until then: median, worst | others named |")
    print("|---|---|---|---|---|---|---|")
    for ranks, per_second, (name, noise), slow in product(RANKS, RATES, NOISES.items(), (1.3, 2.0)):
        found, wrong = latency(ranks, per_second, noise, seeds, slow)
        middle, worst = statistics.median(found) if found else "–", max(found, default="–")
        told = f"{ranks} | {per_second:g} | {name} | {(slow - 1) * 100:.0f} % | {len(found)} of {len(seeds)}"
        print(f"| {told} | {middle}, {worst} | {wrong} |", flush=True)


def print_false_alarms(seeds: range) -> None:
    """How often a rank is named in trainings in which none is slow for itself."""
    print("\n| ranks | steps/s | noise | what happens | named by mistake per million steps |")
    print("|---|---|---|---|---|")
    alarms = steps = 0
    for ranks, per_second, (name, noise), (what, slowness) in product(RANKS, RATES, NOISES.items(), STALLS.items()):
        if ranks == 2 and slowness is half_slow:
            continue  # one of two ranks that is slow for itself is a straggler
        count = false_alarms(ranks, per_second, noise, seeds, slowness)
        if name in ORDINARY:
            alarms, steps = alarms + count, steps + 10_000 * len(seeds)
        print(f"| {ranks} | {per_second:g} | {name} | {what} | {count * 100 // len(seeds)} |", flush=True)
    print(f"\n{alarms} named by mistake in {steps:,} steps of trainings with {' or '.join(ORDINARY)}.")


if __name__ == "__main__":
    main(sys.argv[1:])
