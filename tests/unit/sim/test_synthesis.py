import os
import subprocess
import sys
from collections import Counter
from itertools import groupby, pairwise

from muster.model.ids import JobId, TeamPath, TierName
from muster.model.records import evolve
from muster.model.trace import Trace, TraceJob
from muster.sim.synthesis import USERS_MAX, USERS_MIN, with_made_up


def a_trace(jobs: int = 5_000, teams: int = 5) -> Trace:
    """A job every ten minutes from each team in turn, of one to eight GPUs."""
    return Trace(
        name="t",
        jobs=tuple(
            TraceJob(
                id=JobId(str(number)),
                submit_ms=number * 120_000,
                run_ms=1 + number * 7919 % 100_000,
                gpu_milli=1000 << number // teams % 4,
                team=TeamPath(f"org/t{number % teams}"),
            )
            for number in range(jobs)
        ),
    )


def test_the_same_seed_gives_the_same_trace_in_every_process() -> None:
    program = (
        "from tests.unit.sim.test_synthesis import a_trace\n"
        "from muster.sim.synthesis import with_made_up\n"
        "print(*((job.user, job.name, job.tier, job.priority) for job in with_made_up(a_trace(300), 1).jobs))"
    )
    here = " ".join(str((job.user, job.name, job.tier, job.priority)) for job in with_made_up(a_trace(300), 1).jobs)
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    there = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
    ).stdout
    assert there.strip() == here
    assert with_made_up(a_trace(300), 2) != with_made_up(a_trace(300), 1)


def test_only_what_is_made_up_changes() -> None:
    trace = a_trace(500)
    blank = {"user": "", "name": "", "tier": TierName("standard"), "priority": 50}
    assert tuple(evolve(job, **blank) for job in with_made_up(trace, 1).jobs) == trace.jobs  # type: ignore[arg-type]
    assert with_made_up(trace, 1, users=False, tiers=False) == trace


def test_durations_play_no_part() -> None:
    trace = a_trace(500)
    longer = evolve(trace, jobs=tuple(evolve(job, run_ms=job.run_ms * 3) for job in trace.jobs))
    made_up = [(job.user, job.name, job.tier) for job in with_made_up(trace, 1).jobs]
    assert [(job.user, job.name, job.tier) for job in with_made_up(longer, 1).jobs] == made_up


def test_each_team_has_a_few_users_of_its_own_who_work_in_sessions() -> None:
    jobs = sorted(with_made_up(a_trace(), 1).jobs, key=lambda job: job.team)
    for team, group in groupby(jobs, key=lambda job: job.team):
        users = [job.user for job in group]
        counts = Counter(users)
        assert USERS_MIN <= len(counts) <= USERS_MAX
        assert all(user.startswith(f"{team.replace('/', '.')}-u") for user in counts)
        assert max(counts.values()) > 2 * len(users) / len(counts)
        assert sum(left == right for left, right in pairwise(users)) > len(users) / 2


def test_users_submit_the_same_experiment_again_and_at_the_same_size() -> None:
    jobs = with_made_up(a_trace(), 1).jobs
    sizes: dict[tuple[str, str], set[int]] = {}
    for job in jobs:
        sizes.setdefault((job.user, job.name), set()).add(job.gpu_milli)
    assert all(len(each) == 1 for each in sizes.values())
    assert len(jobs) / 20 < len(sizes) < len(jobs) / 4


def test_tiers_come_in_their_usual_shares_and_an_experiment_keeps_its_own() -> None:
    jobs = with_made_up(a_trace(20_000, teams=20), 1).jobs
    share = {tier: count / len(jobs) for tier, count in Counter(job.tier for job in jobs).items()}
    assert {tier: round(each, 1) for tier, each in share.items()} == {
        "production": 0.1,
        "standard": 0.6,
        "exploratory": 0.3,
    }
    habits: dict[tuple[str, str], set[tuple[str, int]]] = {}
    for job in jobs:
        habits.setdefault((job.user, job.name), set()).add((job.tier, job.priority))
    assert all(len(each) == 1 for each in habits.values())


def test_priorities_lie_round_the_default() -> None:
    priorities = [job.priority for job in with_made_up(a_trace(), 1).jobs]
    assert all(30 <= priority <= 70 for priority in priorities)
    assert abs(sum(priorities) / len(priorities) - 50) < 3
    assert len(set(priorities)) > 10


def test_what_the_source_says_is_kept() -> None:
    first, *others = a_trace(200).jobs
    known = evolve(first, user="ada", name="train", tier=TierName("production"), priority=7)
    kept, *filled = with_made_up(Trace(name="t", jobs=(known, *others)), 1).jobs
    assert kept == known
    assert all(job.user and job.name for job in filled)
    assert {(job.tier, job.priority) for job in filled} == {("standard", 50)}


def test_jobs_without_users_can_have_tiers() -> None:
    jobs = with_made_up(a_trace(2_000), 1, users=False).jobs
    assert {job.user for job in jobs} == {""}
    assert len({job.tier for job in jobs}) == 3
