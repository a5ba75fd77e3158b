"""What admission rules add to a submission: the same jobs submitted without rules and with a hundred, in turn.

python -m benchmarks.admission [--jobs 400] [--rules 100]

Both are measured in one run, in batches that alternate, so that whatever else the machine does is in both.
"""

import argparse
import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from muster.engine.engine import Engine
from muster.formats.admission.job_view import job_view
from muster.formats.admission.judging import AskedJob, RuleBook
from muster.formats.admission.rules import admission_part
from muster.formats.jobs.job_file import job_from_document
from muster.formats.text.document import Document, Problems, read_document
from muster.model.policy import AdmissionRule
from muster.model.records import evolve
from tests.api.world import RULES, World, a_world, job_file
from tests.builders import NOW_MS

BATCH = 20
JUDGED = 100
VARIABLES = 5
MOST_MS = 2.0
"""What a hundred rules may add to one submission."""

FIELD = Path(__file__).parents[1] / "tests" / "data" / "admission_rules.yaml"
"""Rules of the kinds that platform teams write. Those that refuse the job of the measurement are left out."""


def _rules(count: int) -> tuple[AdmissionRule, ...]:
    """So many rules, all of which are asked: the job is refused by none of them."""
    cases: list[Any] = read_document(FIELD).value  # type: ignore[assignment]
    book: list[AdmissionRule] = []
    for rule in _read([case["rule"] for case in cases]):
        if RuleBook((*book, rule, *book)).judge(_asked()).denial is None:
            book.append(rule)
    return tuple(
        evolve(book[number % len(book)], name=f"{number}: {book[number % len(book)].name}") for number in range(count)
    )


def _read(documents: list[Any]) -> tuple[AdmissionRule, ...]:
    problems = Problems(Document(file="rules", value=documents))
    rules = admission_part(documents, problems, ())
    problems.stop_if_any()
    return rules


def _job() -> dict[str, Any]:
    env = {f"VARIABLE_{number}": "value" for number in range(VARIABLES)}
    tags = {"project": "atlas", "cost_centre": "4711"}
    return job_file(env=env, tags=tags, image="registry.example/nlp/train:2.1", workdir="/data", max_duration="12h")


def _asked() -> AskedJob:
    spec = job_from_document(Document(file="job", value=_job()))
    return AskedJob(given=_job(), view=job_view(spec), user="admin", team="nlp", now_ms=NOW_MS)


def _judging_ms(rules: tuple[AdmissionRule, ...]) -> float:
    """Processor time for one job in the process that judges."""
    book, asked = RuleBook(rules), _asked()
    began_s = time.process_time()
    for _ in range(JUDGED):
        book.judge(asked)
    return (time.process_time() - began_s) / JUDGED * 1000


@dataclass
class Taken:
    """How long submissions took, and the processor time of the server for all of them."""

    wall_ms: list[float] = field(default_factory=list)
    cpu_ms: float = 0.0

    @property
    def each_cpu_ms(self) -> float:
        """Processor time for one."""
        return self.cpu_ms / max(len(self.wall_ms), 1)


async def _submit(client: httpx.AsyncClient, taken: Taken) -> None:
    job, cpu_s = _job(), time.process_time()
    for _ in range(BATCH):
        began_s = time.perf_counter()
        answer = await client.post("/v1/jobs", json={"job": job, "held": True})
        taken.wall_ms.append((time.perf_counter() - began_s) * 1000)
        assert answer.status_code == 201, answer.text
    taken.cpu_ms += (time.process_time() - cpu_s) * 1000


async def _use(world: World, rules: tuple[AdmissionRule, ...]) -> None:
    def change(engine: Engine, now_ms: int) -> bool:
        return engine.change_rules(evolve(RULES, admission=rules), now_ms)

    await asyncio.wrap_future(world.control.ask(change))


async def _measured(world: World, jobs: int, rules: tuple[AdmissionRule, ...]) -> tuple[Taken, Taken]:
    without, ruled = Taken(), Taken()
    async with world.client("admin") as client:
        for turn in range(2 * (jobs // BATCH + 1)):
            is_ruled = bool(turn % 2)
            await _use(world, rules if is_ruled else ())
            await _submit(client, Taken())  # compiles what is new, and warms up
            await _submit(client, ruled if is_ruled else without)
    return without, ruled


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=400)
    parser.add_argument("--rules", type=int, default=100)
    given = parser.parse_args()
    rules = _rules(given.rules)
    judging_ms = _judging_ms(rules)
    with a_world() as world:
        without, ruled = asyncio.run(_measured(world, given.jobs, rules))
    plain_ms, ruled_ms = median(without.wall_ms), median(ruled.wall_ms)
    cpu_ms = ruled.each_cpu_ms - without.each_cpu_ms + judging_ms
    print(f"a submission takes {plain_ms:.2f} ms without rules and {ruled_ms:.2f} ms with {given.rules} (median)")
    print(f"they add {ruled_ms - plain_ms:.2f} ms of time: {ruled_ms / plain_ms:.2f} times as much in all")
    print(f"they add {cpu_ms:.2f} ms of processor time, {judging_ms:.2f} ms of it in the process that judges")


if __name__ == "__main__":
    main()
