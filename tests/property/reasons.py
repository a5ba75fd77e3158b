"""What waiting jobs are told is true: `python -m tests.property.reasons 0..2000 --processes 2`.

Every reason of every waiting job of a situation is tried in a copy of the situation without the obstacle that it names.
"""

import re
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from muster.core.explaining.explain import Explanation, with_place
from muster.core.explaining.obstacles import NOT_ALONE, NOT_EMPTY
from muster.core.offline import Decision, decide
from muster.model.ids import JobId
from muster.model.plan import Basis, Reason, ReasonCode
from muster.model.records import evolve
from muster.model.scenario import Scenario
from tests.property.obstacles import (
    EXCUSES,
    NEVER_TOLD,
    WOULD_START,
    Told,
    carried_out,
    free_gpus,
    is_same,
    short_enough,
    without_obstacle,
)
from tests.property.situations import a_situation


@dataclass(slots=True)
class Findings:
    """What was tried, and what was not true."""

    tried: Counter[str] = field(default_factory=Counter)
    """Reasons by code and rule."""
    lies: list[str] = field(default_factory=list)

    def summary(self, situations: int) -> str:
        """How many reasons of each kind were tried, and what was not true."""
        total = f"{self.tried.total():7,}  reasons in {situations:,} situations, {len(self.lies)} not true"
        counts = [f"{count:7,}  {kind}" for kind, count in sorted(self.tried.items())]
        return "\n".join([*counts, total, *self.lies]) + "\n"

    def add(self, other: "Findings") -> None:
        """Count what was found elsewhere too."""
        self.tried += other.tried
        self.lies += other.lies


def find(seed: int) -> Findings:
    """Try all reasons of the situation that a seed stands for."""
    found = Findings()
    for told, lie in tried(a_situation(seed)):
        found.tried[f"{told.reason.code} {told.reason.rule}".strip()] += 1
        if lie:
            found.lies.append(f"situation {seed}, {told.job.id}: {lie}")
    return found


def tried(scenario: Scenario) -> Iterator[tuple[Told, str]]:
    """Every reason that a waiting job is told, and what is not true about it."""
    decision = decide(scenario)
    jobs = {job.id: job for job in scenario.waiting}
    for explained in _explanations(decision):
        all_told = [Told(scenario, decision.plan, jobs[explained.job], reason) for reason in explained.reasons]
        for told in all_told:
            yield told, _lie(told)
        protected = [told for told in all_told if told.reason.code is ReasonCode.PROTECTED]
        if protected:
            yield protected[0], _stands_aside(protected)


def _explanations(decision: Decision) -> Iterator[Explanation]:
    """As `muster why` tells them, with the place where jobs take turns."""
    for explained in decision.explanations:
        yield with_place(explained, decision.places)


def _lie(told: Told) -> str:
    reason = told.reason
    if reason.code in NEVER_TOLD:
        return f"it is told {reason.code}, but {NEVER_TOLD[reason.code]}"
    after = decide(without_obstacle(told))
    still = [each for each in _reasons(after, told.job.id) if is_same(reason, each)]
    if still:
        return f"{reason.code}: {reason.message} -- still told: {still[0].message}"
    return _broken_claim(told)


def _broken_claim(told: Told) -> str:
    """What a reason claims beyond being there: that the job would start, or that so many GPUs are free."""
    reason = told.reason
    if reason.rule == NOT_ALONE:
        return _starts_on_an_idle_cluster(told)
    if reason.rule == NOT_EMPTY or (reason.code in WOULD_START and "idle cluster" not in reason.message):
        lie = _does_not_start(told, without_obstacle(carried_out(told)))
        if lie or not reason.would_help.startswith("a max_duration of less than"):
            return lie
        return _does_not_start(told, short_enough(carried_out(told)))
    if reason.code is ReasonCode.HELD_BY_OTHERS and reason.about and not reason.rule:
        return _does_not_start(told, short_enough(carried_out(told, alone=False)))
    return _miscounted(told)


def _starts_on_an_idle_cluster(told: Told) -> str:
    """What is not true about a reservation that is in the way even if nothing runs: nothing else may be."""
    alone = evolve(told.scenario, running=(), waiting=(told.job,), promises=())
    idle = told._replace(scenario=alone)
    if not _reasons(decide(alone), told.job.id):
        return f"{told.reason.message} -- but on an idle cluster it starts"
    lie = _does_not_start(told, without_obstacle(idle))
    if lie or not told.reason.would_help.startswith("a max_duration of less than"):
        return lie
    return _does_not_start(told, short_enough(idle))


def _miscounted(told: Told) -> str:
    """What is not true about the GPUs that a reason says are free, where the job may use them and where it may not."""
    message = told.reason.message
    counted = re.match(r"needs \S+ (?P<kind>\S+), (?P<free>\S+) (?:is|are) free", message) or re.match(
        r"(?P<free>\S+) (?P<kind>\S+) (?:is|are) free", message
    )
    if counted is None:
        return ""
    more = re.search(r"; (\S+) more (?:is|are) free on nodes that", message)
    free = free_gpus(told, counted["kind"]), free_gpus(told, counted["kind"], usable=False)
    is_true = free == (float(counted["free"]), float(more[1]) if more is not None else 0)
    return "" if is_true else f"{message} -- but {free[0]} are, and {free[1]} where it may not go"


def _stands_aside(protected: list[Told]) -> str:
    """Why no room is made for a job although nothing protects the jobs in its way any more."""
    told = carried_out(protected[0])
    for each in protected:
        told = told._replace(scenario=without_obstacle(told._replace(reason=each.reason)))
    after = decide(told.scenario)
    promised = [promise.job for promise in after.plan.promises if promise.basis is Basis.DEPARTURES]
    reasons = _reasons(after, told.job.id)
    # Something else may protect the same jobs, and room is made for a job in front of it first.
    excuses = (*EXCUSES, ReasonCode.PROTECTED)
    if not reasons or promised or after.plan.starts or any(reason.code in excuses for reason in reasons):
        return ""
    return f"{protected[0].reason.message} -- but then it waits for {[reason.message for reason in reasons]}"


def _does_not_start(told: Told, scenario: Scenario) -> str:
    """What still keeps the job waiting, unless it has nothing to do with room or another job took the room first."""
    after = decide(scenario)
    others = [each.code for each in _reasons(after, told.job.id)]
    if not others or after.plan.starts or any(code in EXCUSES for code in others):
        return ""
    return f"{told.reason.code}: {told.reason.message} -- but then it waits for {others}"


def _reasons(decision: Decision, job: JobId) -> tuple[Reason, ...]:
    explained = next((each for each in _explanations(decision) if each.job == job), None)
    return () if explained is None else explained.reasons


def main(arguments: list[str]) -> int:
    """Try the situations of a range of seeds; 1 when something was not true."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("seeds", help="the first and the one after the last: 0..2000")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args(arguments)
    first, _, last = options.seeds.partition("..")
    found = Findings()
    with ProcessPoolExecutor(options.processes) as processes:
        for each in processes.map(find, range(int(first), int(last)), chunksize=20):
            found.add(each)
    sys.stdout.write(found.summary(int(last) - int(first)))
    return 1 if found.lies else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
