"""`python -m tests.failover --tries 20 --seed 1`: let faults strike a leader, and print what came of each."""

import argparse
import sys
from itertools import cycle, islice

from tests.failover.faults import FAULTS, ORDER
from tests.failover.trial import Try, machine, run_tries


def main(arguments: list[str]) -> int:
    """Run the tries. Returns 1 if a promise was broken in any of them."""
    parser = argparse.ArgumentParser(prog="python -m tests.failover", description=__doc__)
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=sorted(FAULTS), action="append")
    given = parser.parse_args(arguments)
    kinds = list(islice(cycle(given.only or ORDER), given.tries))
    done: list[Try] = []
    with machine() as planes:
        for each in run_tries(planes, kinds, given.seed):
            done.append(each)
            _tell(len(done), each)
    _sum_up(done)
    return 1 if any(each.problems or each.stale_writes for each in done) else 0


def _tell(number: int, each: Try) -> None:
    who = "another leads" if each.has_moved else "the same leads"
    sys.stdout.write(
        f"{number:3} {each.kind:17} served after {each.took_s:4.1f} s, {who}; {each.acknowledged} acknowledged, "
        f"{each.stale_writes} stale writes, {len(each.problems)} problems\n"
    )
    sys.stdout.writelines(f"      {problem}\n" for problem in each.problems)
    sys.stdout.flush()


def _sum_up(done: list[Try]) -> None:
    stale, broken = sum(each.stale_writes for each in done), sum(len(each.problems) for each in done)
    longest_s = max(each.took_s for each in done)
    acknowledged = sum(each.acknowledged for each in done)
    sys.stdout.write(
        f"{len(done)} tries: {acknowledged} submissions acknowledged, {stale} stale writes, {broken} problems; a "
        f"leader served after {longest_s:.1f} s at the latest\n"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
