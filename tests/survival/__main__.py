"""`python -m tests.survival`: kill a real training again and again, and say what broke and how long things took.

    python -m tests.survival --kills 100 --seed 1 --results build/survival.jsonl

A trial takes twenty kills. The exit code is 1 when a promise was broken.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from tests.survival.grounds import GROUNDS
from tests.survival.strikes import STRIKES
from tests.survival.trial import EVERY_S, Result, run_trial

PER_TRIAL = 20
STEPS_PER_KILL = 150
"""A step takes a twentieth of a second and more, and between two kills the training runs for about ten seconds."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run trials until so many kills have struck."""
    options = _options(arguments)
    kinds = tuple(name for name in options.only.split(",") if name)
    left, seed, results = options.kills, options.seed, list[Result]()
    while left > 0:
        kills = min(left, PER_TRIAL)
        result = run_trial(
            seed, kills=kills, steps=STEPS_PER_KILL * kills, kinds=kinds, fsdp=options.fsdp, where=options.where
        )
        results.append(result)
        options.results.parent.mkdir(parents=True, exist_ok=True)
        with options.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result.document) + "\n")
        sys.stdout.write(_told(result))
        sys.stdout.flush()
        left, seed = left - kills, seed + 1
    return 1 if any(result.problems for result in results) else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.survival", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--kills", type=int, default=PER_TRIAL)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--where", choices=tuple(GROUNDS), default="local", help="where the training runs")
    parser.add_argument(
        "--only", default="", help=f"kinds of kills, by commas: {', '.join(STRIKES)}, and those of engines"
    )
    parser.add_argument("--fsdp", action="store_true", help="shard the model over the processes")
    parser.add_argument("--results", type=Path, default=Path("build/survival.jsonl"))
    return parser.parse_args(arguments)


def _told(result: Result) -> str:
    lines = [f"seed {result.seed}: {len(result.struck)} kills, {result.attempts} attempts, {result.steps} steps"]
    for kind in dict.fromkeys(each.kind for each in result.struck):
        of_kind = [each for each in result.struck if each.kind == kind]
        stepped = [each.stepped_s for each in of_kind if each.stepped_s is not None]
        detected = [each.detected_s for each in of_kind if each.detected_s is not None]
        lines.append(
            f"  {kind:<11}{len(of_kind):3}   stepping again {_spread(stepped)}   known after {_spread(detected)}"
        )
    lines.append(f"  work done again {_spread(result.lost_s)}, saves every {EVERY_S} s")
    lines += [f"    {each.told}" for each in result.interruptions]
    return "\n".join([*lines, *(f"  BROKEN {problem}" for problem in result.problems)]) + "\n"


def _spread(seconds: list[float]) -> str:
    return f"{median(seconds):5.1f} s, {max(seconds):5.1f} s at most" if seconds else "-"


if __name__ == "__main__":
    sys.exit(main())
