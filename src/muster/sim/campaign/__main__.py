"""`python -m muster.sim.campaign [FIRST..LAST] [--processes N]`: run schedules, show progress, print what was found.

Every number stands for a schedule of faults and one of leaders that are lost, and every fifth also for a crowd, which
takes longer.
"""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import chain

from muster.model.policy import HOUR_MS
from muster.sim.campaign.campaign import check_crowd, check_schedule
from muster.sim.campaign.failover import check_failover
from muster.sim.campaign.violations import Violations

SCHEDULES = 10_000
CROWD_EVERY = 5
AT_ONCE = 25
"""Schedules handed to a process at a time."""
SHOWN = 5
"""Broken schedules printed in full. The others are listed by their seeds, to be run again."""


@dataclass(slots=True)
class Tally:
    """What was found so far."""

    total: int
    began_s: float = field(default_factory=time.monotonic)
    schedules: int = 0
    events: int = 0
    partial_gangs: int = 0
    partial_ms: int = 0
    crowds: int = 0
    failovers: int = 0
    longest_wait_ms: int = 0
    broken: list[str] = field(default_factory=list)

    def take(self, found: Violations) -> None:
        """Count one schedule, and print its story if it is among the first broken ones."""
        self.schedules += not found.is_crowd and not found.is_failover
        self.crowds += found.is_crowd
        self.failovers += found.is_failover
        self.longest_wait_ms = max(self.longest_wait_ms, found.longest_wait_ms)
        self.events += found.events
        self.partial_gangs += found.partial_gangs
        self.partial_ms = max(self.partial_ms, found.partial_ms)
        if found:
            kind = " (crowd)" if found.is_crowd else " (failover)" if found.is_failover else ""
            self.broken.append(f"{found.seed}{kind}")
            if len(self.broken) <= SHOWN:
                sys.stdout.write(f"{_over()}{found}\n")

    def progress(self) -> str:
        """The progress in one line."""
        seconds = time.monotonic() - self.began_s
        done = max(self.schedules, self.failovers)
        return f"{done} of {self.total} schedules, {len(self.broken)} broken, {seconds:.0f} s"

    def summary(self) -> str:
        """What is printed at the end."""
        verdict = f"broken: {' '.join(self.broken)}" if self.broken else "nothing is wrong"
        partial = (
            f"{self.partial_gangs} gangs were partly gone, within reach for {self.partial_ms / 1000:.1f} s at most"
        )
        waits = f"{self.crowds} crowds, in which no job waited for more than {self.longest_wait_ms / HOUR_MS:.1f} h"
        return (
            f"{_over()}{self.progress()}\n{partial}\n{waits}\n{self.failovers} schedules of lost leaders\n"
            f"{self.events} events, all invariants checked after each; {verdict}\n"
        )


def _over() -> str:
    """The prefix of text that overwrites the progress line. Only a terminal has such a line."""
    return "\r" if sys.stdout.isatty() else ""


def seeds(text: str) -> range:
    """`3..7` is 3, 4, 5 and 6; `3` is 3 alone."""
    first, dots, last = text.partition("..")
    return range(int(first), int(last) if dots else int(first) + 1)


def check(number: int) -> list[Violations]:
    """Run the schedules that a number stands for, and the crowd if there is one."""
    return [check_schedule(number), check_failover(number), *([] if number % CROWD_EVERY else [check_crowd(number)])]


def check_only_failover(number: int) -> list[Violations]:
    """Run only the schedule in which leaders are lost."""
    return [check_failover(number)]


def main(arguments: list[str]) -> int:
    """Run the schedules. Returns 1 if any of them is broken."""
    parser = argparse.ArgumentParser(prog="python -m muster.sim.campaign", description="Run random fault schedules.")
    parser.add_argument("seeds", nargs="?", default=f"0..{SCHEDULES}", help="one number, or FIRST..LAST")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only-failover", action="store_true", help="only schedules in which leaders are lost")
    given = parser.parse_args(arguments)
    numbers = seeds(given.seeds)
    tally = Tally(total=len(numbers))
    with ProcessPoolExecutor(given.processes) as pool:
        checked = check_only_failover if given.only_failover else check
        for found in chain.from_iterable(pool.map(checked, numbers, chunksize=AT_ONCE)):
            tally.take(found)
            if tally.schedules % AT_ONCE == 0 and sys.stdout.isatty():
                sys.stdout.write(f"\r{tally.progress()} ")
                sys.stdout.flush()
    sys.stdout.write(tally.summary())
    return 1 if tally.broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
