"""Whether the default policy wins on traces that were not used to build it: one JSON line per case, tables at the end.

Each trace is replayed under each policy, with 30 s for a restart, on clusters of several sizes (`policy_cases`). Five
bars compare `muster` with `las` (`policy_figures`). They are counted apart for traces that the constants of the policy
were chosen on and for all others. A few traces are replayed once more with tiers or with quotas (`promised_waits`).

`python -m benchmarks.policies ph_w2 syn --policies las,muster --processes 2` measures a part: the cases whose names
begin with one of the prefixes, under some of the policies. Variants with tiers begin with `tiers_`, those with quotas
with `quotas_`. The traces are in MUSTER_TRACES, or else those of the tests.
"""

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import policy_figures, promised_waits
from benchmarks.policy_cases import all_cases, traces_folder
from benchmarks.policy_figures import Result
from benchmarks.policy_tables import summary_lines, table_lines, waits_lines
from benchmarks.promised_waits import WaitFigures
from muster.policies import find_policy

POLICIES = ("fifo", "easy", "las", "srsf-oracle", "muster")


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """What one process is to measure. It reads the traces itself, which is faster than being sent them."""

    folder: Path
    name: str
    policies: tuple[str, ...]

    def run(self) -> Result | list[WaitFigures]:
        """Replay a case, or a variant of one."""
        cases = {case.name: case for case in all_cases(self.folder)}
        if self.name in cases:
            return policy_figures.measure(cases[self.name], self.policies)
        case = cases[self.name.partition("_")[2]]
        asked = [policy for policy in promised_waits.POLICIES if policy in self.policies]
        return [promised_waits.measure(self.name, case, policy) for policy in asked]


def errands(folder: Path, prefixes: Sequence[str], policies: tuple[str, ...]) -> list[Errand]:
    """One for each case and each variant whose name begins with one of the prefixes; all if there are none."""
    names = [*(case.name for case in all_cases(folder)), *promised_waits.names()]
    chosen = [name for name in names if not prefixes or name.startswith(tuple(prefixes))]
    return [Errand(folder=folder, name=name, policies=policies) for name in chosen]


def run_all(wanted: Sequence[Errand], processes: int) -> Iterator[Result | list[WaitFigures]]:
    """The results in order, each as soon as it and all before it are there."""
    if processes == 1:
        yield from map(Errand.run, wanted)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(Errand.run, wanted)


def json_lines(result: Result | list[WaitFigures]) -> Iterator[str]:
    """One line for each policy, and one that says which bars hold."""
    if isinstance(result, list):
        for waits in result:
            yield json.dumps({**asdict(waits), "case": f"policies, {waits.case}, {waits.policy}"})
        return
    where = {
        "jobs": result.jobs,
        "nodes": result.nodes,
        "load": result.load,
        "tuned": result.is_tuned,
        "known": result.known,
    }
    for figures in result.figures:
        case = {"case": f"policies, {result.case}, {figures.policy}"}
        yield json.dumps({**case, **where, **asdict(figures)})
    if result.bars:
        yield json.dumps({"case": f"policies, {result.case}, bars", **where, **dict(result.bars)})


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description="Compare policies on many traces.")
    parser.add_argument("prefixes", nargs="*", help="cases to measure, by how their names begin; all if none is given")
    parser.add_argument("--policies", default=",".join(POLICIES), help="names, separated by commas")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--traces", default="", help="their folder, instead of MUSTER_TRACES")
    parser.add_argument("--list", action="store_true", help="only name the cases")
    asked = parser.parse_args()
    policies = tuple(asked.policies.split(","))
    for name in policies:
        find_policy(name)
    wanted = errands(traces_folder(asked.traces), asked.prefixes, policies)
    if not wanted:
        parser.error("no case begins with that; --list names all of them")
    if asked.list:
        _write(errand.name for errand in wanted)
        return
    measure_all(wanted, asked.processes)


def measure_all(wanted: Sequence[Errand], processes: int) -> None:
    """Print each result when it is there, and the tables at the end."""
    results: list[Result] = []
    waits: list[WaitFigures] = []
    try:
        for found in run_all(wanted, processes):
            _write(json_lines(found))
            if isinstance(found, Result):
                results.append(found)
            else:
                waits += found
    finally:
        # Also when a person stops it, because all of it takes hours.
        for lines in (table_lines(results) if results else (), summary_lines(results), waits_lines(waits)):
            _write(lines)


def _write(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
