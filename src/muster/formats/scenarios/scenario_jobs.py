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
from muster.model.ids import JobId
from muster.model.job import RunningJob, WaitingJob
from muster.model.limits import JOB_NAME_CHARS
from muster.model.plan import Promise
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
        """The jobs that want to start, with the jobs of the scenario that they still depend on."""
        found = [
            (wire, spec, ("waiting", place))
            for place, item in enumerate(items)
            for wire, spec in self._waiting(item, ("waiting", place))
        ]
        present = _Present(chain(((job.id, job.spec.name) for job in running), ((w.id, s.name) for w, s, _ in found)))
        return tuple(self._waiting_job(wire, spec, present, at) for wire, spec, at in found)

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

    def _waiting_job(self, wire: WaitingWire, spec: JobSpec, present: "_Present", at: Loc) -> WaitingJob:
        if any(each.job == wire.id for each in spec.depends_on):
            self._problems.add((*at, "job", "depends_on"), f"job {wire.id!r} depends on itself")
        needed = chain(wire.unmet, *(present.ids(each.job) for each in spec.depends_on))
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
        self._references.check_job(spec, self._problems, at)
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
    """Which jobs run or wait, by id and by name."""

    def __init__(self, jobs: Iterator[tuple[str, str]]) -> None:
        self._ids: dict[str, list[str]] = {}
        by_name: dict[str, list[str]] = {}
        for job, name in jobs:
            self._ids[job] = [job]
            by_name.setdefault(name, []).append(job)
        self._ids = {**by_name, **self._ids}

    def ids(self, job: str) -> Sequence[str]:
        """The jobs that an id means or, if no job has that id, a name. Empty when the job has ended."""
        return self._ids.get(job, ())


def _name_from_id(job: str) -> str:
    """A name for a job that is only planned and has none of its own."""
    return re.sub(r"[^a-z0-9-]", "-", job.lower())[:JOB_NAME_CHARS]
