"""The `running`, `waiting` and `holds` parts of a scenario -> model values, checked against cluster and rules."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from muster.formats.jobs.job_file import spec_from_given
from muster.formats.parts.parts import Given
from muster.formats.parts.wire import closest, read_part
from muster.formats.scenarios.placements import Occupancy, placement
from muster.formats.scenarios.references import References
from muster.formats.scenarios.scenario_wire import PromiseWire, RunningWire, WaitingWire
from muster.formats.text.document import Problems
from muster.formats.text.units import time_text
from muster.formats.text.yaml_text import Loc
from muster.model.array import task_id
from muster.model.ids import JobId
from muster.model.job import RunningJob, WaitingJob
from muster.model.limits import JOB_NAME_CHARS, JOBS_PER_SCENARIO
from muster.model.plan import Promise
from muster.model.records import evolve
from muster.model.spec import JobSpec


class ScenarioJobs:
    """Reads the jobs of one scenario. Equal jobs share one spec, so that ten thousand of them stay small."""

    def __init__(self, references: References, now_ms: int | None, problems: Problems) -> None:
        self.uses_default_team = False
        """True when a job names no team. The default team then exists, whatever the tree says."""
        self._references = references
        self._now_ms = now_ms
        self._problems = problems
        self._specs: dict[JobSpec, JobSpec] = {}
        self._place_by_id: dict[str, Loc] = {}

    def running(self, items: Sequence[object]) -> tuple[RunningJob, ...]:
        """The jobs that occupy GPUs. They must fit on the cluster together."""
        jobs = [self._running(item, ("running", place)) for place, item in enumerate(items)]
        found = [(place, job) for place, job in enumerate(jobs) if job is not None]
        if self._references.known_nodes is not None:
            occupancy = Occupancy(self._references.known_nodes, self._problems)
            for place, job in found:
                occupancy.add(job.id, job.spec, job.workers, ("running", place, "workers"))
        return tuple(job for _, job in found)

    def waiting(self, items: Sequence[object], running: Sequence[RunningJob]) -> tuple[WaitingJob, ...]:
        """The jobs that want to start, with the jobs that they still depend on. An array is its tasks."""
        found = [
            (wire, spec, ("waiting", place))
            for place, item in enumerate(items)
            for wire, spec in self._waiting(item, ("waiting", place))
        ]
        total = sum(1 if spec.array is None else len(spec.array.indices) for _, spec, _ in found)
        if total > JOBS_PER_SCENARIO:
            self._problems.add(
                ("waiting",), f"is {total} jobs, with the tasks of arrays", f"at most {JOBS_PER_SCENARIO}"
            )
            return ()
        jobs = [
            each for wire, spec, at in found for each in self._tasks(self._waiting_job(wire, spec, at), running, at)
        ]
        present = _Present((*running, *jobs))
        return tuple(_with_names(job, present) for job in jobs)

    def promises(self, items: Sequence[object], waiting: Sequence[WaitingJob]) -> tuple[Promise, ...]:
        """The promises that were made before, each to a job that waits."""
        specs = {job.id: job.spec for job in waiting}
        found: dict[JobId, Promise] = {}
        for place, item in enumerate(items):
            promise = self._promise(item, specs, ("holds", place))
            if promise is not None and promise.job in found:
                self._problems.add(
                    ("holds", place, "job"), f"job {promise.job!r} has two holds", "one promise to a job"
                )
            elif promise is not None:
                found[promise.job] = promise
        return tuple(found.values())

    def _running(self, item: object, at: Loc) -> RunningJob | None:
        wire = read_part(RunningWire, item, self._problems, at)
        if wire is None:
            return None
        self._claim(wire.id, at)
        for key in ("started", "checkpointed", "submitted"):
            self._check_past(getattr(wire, key), (*at, key))
        spec = self._spec(wire.job, wire.id, (*at, "job"))
        if spec is None or self._references.known_nodes is None:
            return None
        workers = placement(wire.workers, spec, self._references.known_nodes, self._problems, (*at, "workers"))
        if workers is None:
            return None
        return RunningJob(
            id=JobId(wire.id),
            spec=spec,
            started_ms=wire.started,
            workers=workers,
            checkpointed_ms=wire.checkpointed,
            leaving_by_ms=wire.leaving_by,
            submitted_ms=wire.started if wire.submitted is None else wire.submitted,
            user=wire.user,
        )

    def _waiting(self, item: object, at: Loc) -> Iterator[tuple[WaitingWire, JobSpec]]:
        wire = read_part(WaitingWire, item, self._problems, at)
        if wire is None:
            return
        self._claim(wire.id, at)
        self._check_past(wire.submitted, (*at, "submitted"))
        spec = self._spec(wire.job, wire.id, (*at, "job"))
        if spec is not None:
            yield wire, spec

    def _waiting_job(self, wire: WaitingWire, spec: JobSpec, at: Loc) -> WaitingJob:
        """The job, or the array as if it were one."""
        if any(each.job == wire.id for each in spec.depends_on):
            self._problems.add((*at, "job", "depends_on"), f"job {wire.id!r} depends on itself")
        needed = [each.job for each in spec.depends_on] if wire.unmet is None else wire.unmet
        now_ms = self._now_ms or 0
        submitted_ms = now_ms if wire.submitted is None else wire.submitted
        begins_ms = spec.begin.begins_ms(submitted_ms)
        return WaitingJob(
            id=JobId(wire.id),
            spec=spec,
            submitted_ms=submitted_ms if begins_ms > now_ms else begins_ms,
            requeued=wire.requeued,
            attained_gpu_ms=wire.attained_gpu_s,
            predicted_ms=wire.predicted,
            held=wire.held,
            unmet=tuple(JobId(each) for each in dict.fromkeys(needed) if each != wire.id),
            user=wire.user,
            early=begins_ms > now_ms,
        )

    def _tasks(self, job: WaitingJob, running: Sequence[RunningJob], at: Loc) -> tuple[WaitingJob, ...]:
        """The tasks of an array that do not run yet, with those in front whose turn it is; of any other job itself."""
        array = job.spec.array
        if array is None:
            return (job,)
        under_way = dict.fromkeys(each.id for each in running)
        ids = [task_id(job.id, index) for index in array.indices]
        left = [each for each in ids if each not in under_way]
        for each in left:
            self._claim(each, at)
        turns = len(ids) if array.concurrency is None else array.concurrency - (len(ids) - len(left))
        spec = evolve(job.spec, array=None)
        return tuple(evolve(job, id=each, spec=spec, awaits_turn=place >= turns) for place, each in enumerate(left))

    def _promise(self, item: object, specs: Mapping[JobId, JobSpec], at: Loc) -> Promise | None:
        wire = read_part(PromiseWire, item, self._problems, at)
        if wire is None or self._references.known_nodes is None:
            return None
        self._check_past(wire.made, (*at, "made"))
        spec = specs.get(JobId(wire.job))
        if spec is None:
            # A waiting job that could not be read has been noted already.
            if wire.job not in self._place_by_id or self._place_by_id[wire.job][0] != "waiting":
                self._problems.add((*at, "job"), f"no job {wire.job!r} waits", closest(wire.job, specs))
            return None
        workers = placement(wire.workers, spec, self._references.known_nodes, self._problems, (*at, "workers"))
        if workers is None:
            return None
        return Promise(
            job=JobId(wire.job),
            start_ms=wire.start,
            workers=workers,
            made_ms=(self._now_ms or 0) if wire.made is None else wire.made,
            basis=wire.basis,
            moved_because=wire.moved_because,
        )

    def _spec(self, given: Given, job: str, at: Loc) -> JobSpec | None:
        """The job as a value, checked against the references. Equal jobs share one value."""
        spec = spec_from_given(given, self._problems, at, name=_name_from_id(job))
        if spec is None:
            return None
        if "team" in given:
            self._references.check_team(spec.team, self._problems, (*at, "team"))
        else:
            self.uses_default_team = True
        self._references.check_job(spec, self._problems, at, names_tier="tier" in given)
        return self._specs.setdefault(spec, spec)

    def _claim(self, job: str, at: Loc) -> None:
        other = self._place_by_id.setdefault(job, at)
        if other != at:
            self._problems.add((*at, "id"), f"the id {job!r} is also that of {other[0]}[{other[1]}]", "ids are unique")

    def _check_past(self, moment_ms: int | None, at: Loc) -> None:
        if moment_ms is not None and self._now_ms is not None and moment_ms > self._now_ms:
            now = time_text(self._now_ms)
            self._problems.add(at, f"{time_text(moment_ms)} is in the future", f"now is {now}")


class _Present:
    """Which jobs run or wait, by their ids, the ids of their arrays, and their names."""

    def __init__(self, jobs: Sequence[RunningJob | WaitingJob]) -> None:
        by_name: dict[str, list[JobId]] = {}
        by_array: dict[str, list[JobId]] = {}
        for job in jobs:
            by_name.setdefault(job.spec.name, []).append(job.id)
            by_array.setdefault(job.id.rpartition(".")[0], []).append(job.id)
        self._ids = by_name | by_array | {job.id: [job.id] for job in jobs}
        self._meant: dict[tuple[JobId, ...], tuple[tuple[JobId, ...], frozenset[JobId]]] = {}
        """All jobs that several ids mean. The tasks of an array share what they all wait for: it may be thousands."""

    def ids(self, job: JobId) -> Sequence[JobId]:
        """The jobs that an id means, else an array, else a name; the id itself if the file has no such job."""
        return self._ids.get(job, (job,))

    def meant(self, jobs: tuple[JobId, ...], without: JobId) -> tuple[JobId, ...]:
        """The jobs that these ids mean, each once, but for one of them."""
        if jobs not in self._meant:
            found = tuple(dict.fromkeys(chain.from_iterable(map(self.ids, jobs))))
            self._meant[jobs] = (found, frozenset(found))
        found, known = self._meant[jobs]
        return tuple(each for each in found if each != without) if without in known else found


def _with_names(job: WaitingJob, present: _Present) -> WaitingJob:
    """A job that depends on jobs by id, where its file may name them."""
    if not job.unmet:
        return job
    same = frozenset(each.job for each in job.spec.depends_on if each.same_task)
    whole = present.meant(tuple(each for each in job.unmet if each not in same), job.id)
    if not same:
        return evolve(job, unmet=whole)
    own = chain.from_iterable(_same_task(job.id, present.ids(each)) for each in job.unmet if each in same)
    return evolve(job, unmet=tuple(each for each in dict.fromkeys((*own, *whole)) if each != job.id))


def _same_task(job: JobId, ids: Sequence[JobId]) -> Sequence[JobId]:
    """Of the tasks of an array, the one that has the index of this task. A job that is no array is meant as a whole."""
    array = next((each.rpartition(".")[0] for each in ids if "." in each), "")
    return (JobId(f"{array}.{job.rpartition('.')[2]}"),) if array and "." in job else ids


def _name_from_id(job: str) -> str:
    """A name for a job that is only planned and has none of its own."""
    return re.sub(r"[^a-z0-9-]", "-", job.lower())[:JOB_NAME_CHARS]
