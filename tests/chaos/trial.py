"""One trial: a cluster is started, used and struck, mended, and judged; whatever happens, nothing of it is left."""

import heapq
import json
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from muster.client import Client
from muster.model.errors import MusterError, NotFound
from tests.chaos import processes
from tests.chaos.checks import judge, partial_gangs
from tests.chaos.cluster import Cluster, plain, small_disk, tidy_up
from tests.chaos.database import Postgres
from tests.chaos.evidence import FINAL, Evidence, Struck, Violation
from tests.chaos.faults import KINDS, Hit, Stage
from tests.chaos.ledger import Run, Watcher, now_s
from tests.chaos.people import Observer, Submitter, read_answers
from tests.chaos.schedule import Blow, Plan, plan

SETTLE_S = 90.0
"""After everything was mended, all jobs must have ended within this time."""
TURN_S = 0.05
WORK_S = 15.0
BUSY_WORKERS = 4
TRIES = 5
RESTART_S = 1.0
"""Between starts of a control plane that ends by itself, as a service manager would."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a trial."""

    seed: int
    database: str
    nodes: str
    faults: list[dict[str, Any]]
    violations: list[dict[str, str]]
    jobs: int
    runs: int
    partial_s: float
    """The longest time for which a gang was in parts."""
    seconds: float
    restarts: int = 0
    """How often the control plane ended by itself and was started again."""
    notes: list[str] = field(default_factory=list)


def run_trial(seed: int, mark: str, only: tuple[str, ...] = (), exactly: tuple[str, ...] = ()) -> Result:
    """Run the trial of a number, and leave nothing behind."""
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    began_s = time.monotonic()
    try:
        (folder / "claims").mkdir()
        (folder / "saves").mkdir()
        planned = plan(seed, folder, only, exactly)
        with ExitStack() as stack:
            # Left last: what still writes to the disk that is taken away must be gone.
            if any(kind.needs_disk for kind in planned.kinds):
                stack.enter_context(small_disk(folder / "home"))
            stack.callback(processes.sweep, mark)
            trial = _Trial(planned, folder, mark, stack)
            trial.run()
            return trial.result(time.monotonic() - began_s)
    finally:
        tidy_up(folder, mark)


class _Trial:
    """A trial while it runs."""

    def __init__(self, planned: Plan, folder: Path, mark: str, stack: ExitStack) -> None:
        self.plan = planned
        self.evidence = Evidence()
        postgres = None
        if planned.database == "postgresql":
            postgres = Postgres()
            stack.callback(postgres.end)
            postgres.start()
        self.cluster = Cluster(
            folder,
            mark,
            nodes=planned.nodes,
            database="" if postgres is None else postgres.url,
            has_clock=any(kind.needs_clock for kind in planned.kinds),
        )
        stack.callback(self.cluster.close)
        self.cluster.meanwhile = self._mend_due
        self.watcher = Watcher(folder)
        self.stage = Stage(
            folder=folder, cluster=self.cluster, watcher=self.watcher, evidence=self.evidence, postgres=postgres
        )
        self.submitter = Submitter(self.cluster, planned.requests, self.evidence)
        self.observer = Observer(self.cluster, self.watcher, self.evidence)
        self.restarts = 0
        self.notes: list[str] = []
        self._restart_s = 0.0
        self._numbers = count()
        self._mends: list[tuple[float, int, Callable[[], None]]] = []

    def run(self) -> None:
        """From the first start to the last look."""
        started = self.cluster.start()
        if not started.is_up:
            raise RuntimeError(f"the server does not start: {started.said}")
        threads = (self.watcher, self.submitter, self.observer)
        for thread in threads:
            thread.start()
        try:
            self._strike_all()
            self._mend()
            self._settle()
            self.observer.stop()
            self.submitter.stop()
            self._gather()
            self._down()
        finally:
            for thread in threads:
                thread.stop()
        self.evidence.runs = self.watcher.runs()
        self.evidence.clashes = [line for line in self.watcher.lines if line.what == "clash"]
        self._look_for_tracebacks()

    def result(self, seconds: float) -> Result:
        """What is written down of it."""
        longest = max((partial_s for _, _, partial_s in partial_gangs(self.evidence)), default=0.0)
        return Result(
            seed=self.plan.seed,
            database=self.plan.database,
            nodes=self.plan.nodes,
            faults=[asdict(struck) for struck in self.evidence.struck],
            violations=[asdict(violation) for violation in judge(self.evidence)],
            jobs=sum(bool(asked.id) for asked in self.evidence.asked),
            runs=len(self.evidence.runs),
            partial_s=round(longest, 2),
            seconds=round(seconds, 1),
            restarts=self.restarts,
            notes=self.notes,
        )

    def _strike_all(self) -> None:
        """Strike and mend, each at its moment. One after another: what takes longer pushes the rest back."""
        self._wait_for_work()
        began_s = now_s()
        for blow in self.plan.blows:
            self._wait(began_s + blow.at_s)
            struck_s = now_s()
            self._strike(blow)
            began_s += now_s() - struck_s
        while self._mends:
            self._wait(self._mends[0][0])

    def _wait_for_work(self) -> None:
        """What strikes an idle cluster breaks little: some workers must be up, however busy this machine is."""
        until_s = now_s() + WORK_S
        while len(self.watcher.living()) < BUSY_WORKERS and now_s() < until_s:
            time.sleep(TURN_S)

    def _strike(self, blow: Blow) -> None:
        from_s = now_s()
        hit = KINDS[blow.kind].strike(self.stage, blow.pick, blow.hold_s)
        if hit is None:
            self.notes.append(f"{blow.kind} had nothing to strike")
            return
        is_stop = blow.kind == "supervisor-stop"
        if is_stop:
            self.observer.stopped.update(dict.fromkeys(hit.nodes))

        def mended() -> None:
            hit.mend()
            if is_stop:
                for node in hit.nodes:
                    self.observer.stopped.pop(node, None)
            self._note(blow, hit, from_s)

        # A surgery has taken its time already.
        until_s = max(from_s + blow.hold_s, now_s())
        heapq.heappush(self._mends, (until_s, next(self._numbers), mended))

    def _note(self, blow: Blow, hit: Hit, from_s: float) -> None:
        self.evidence.struck.append(
            Struck(
                kind=blow.kind,
                from_s=from_s,
                until_s=now_s(),
                detail=hit.detail,
                nodes=hit.nodes,
                labels=hit.labels,
                is_paired=blow.is_paired,
            )
        )

    def _wait(self, until_s: float) -> None:
        """Let time pass; meanwhile what is due is mended, and a control plane that ended is started again."""
        while True:
            self._mend_due()
            self._look_after_control()
            left_s = until_s - now_s()
            if left_s <= 0:
                return
            time.sleep(min(TURN_S, left_s))

    def _mend_due(self) -> None:
        while self._mends and self._mends[0][0] <= now_s():
            heapq.heappop(self._mends)[2]()

    def _look_after_control(self) -> None:
        control = self.cluster.control
        if self.stage.downs or (control is not None and control.poll() is None) or now_s() < self._restart_s:
            return
        if control is not None and control.returncode != -9:
            self.restarts += 1
        self._restart_s = now_s() + RESTART_S
        self.cluster.control = self.cluster.spawn()

    def _mend(self) -> None:
        """Bring everything back, and let an operator look after what was put into quarantine."""
        self.cluster.step_clock(0)
        until_s = now_s() + SETTLE_S
        while self.cluster.health() is None and now_s() < until_s:
            self._look_after_control()
            time.sleep(TURN_S)
        if self.cluster.health() is None:
            told = self.cluster.said()[-600:].strip()
            self._found("does-not-start", f"after everything was mended: {told}")
        if self.evidence.rollbacks or self.evidence.resets:
            self._look_after_quarantined()
            self.submitter.ask_again()

    def _look_after_quarantined(self) -> None:
        """What is in quarantine is ended, or in every other trial given to its job again."""
        jobs = self._quarantined()
        if not jobs:
            return
        what = ("kill", "adopt")[self.plan.seed % 2]
        done = self.cluster.run("quarantine", what, *jobs)
        self.notes.append(
            f"quarantine {what} {' '.join(jobs)}: exit code {done.returncode} {plain(done.stderr)[-200:]}"
        )
        for _ in range(TRIES):  # each may end by itself at any moment, and is then not there to be killed
            if done.returncode == 0 or not (jobs := self._quarantined()):
                return
            done = self.cluster.run("quarantine", "kill", *jobs)
        self._found("quarantine", f"kill: exit code {done.returncode}: {plain(done.stderr)[-200:]}")

    def _quarantined(self) -> list[str]:
        listed = self.cluster.run("quarantine", "ls", "-o", "json")
        if listed.returncode != 0:
            self._found("quarantine", f"ls: exit code {listed.returncode}: {plain(listed.stderr)[-200:]}")
            return []
        return [gang["job"] for gang in json.loads(listed.stdout)]

    def _found(self, rule: str, told: str) -> None:
        self.evidence.found.append(Violation(rule=rule, told=told))

    def _settle(self) -> None:
        """Wait until everything that was asked for has been acknowledged and has ended."""
        until_s = now_s() + SETTLE_S
        while now_s() < until_s:
            self._look_after_control()
            # Asked first: what is acknowledged while the answers are read is not among them.
            is_done = self.submitter.is_done
            with suppress(MusterError, OSError):
                answers = read_answers(self.cluster.client())
                if is_done and all(answer.state in FINAL for answer in answers.values()):
                    return
            time.sleep(0.2)
        if not self.submitter.is_done:
            waiting = [asked.label for asked in self.evidence.asked if not asked.id]
            told = f"{SETTLE_S:.0f} s after everything was mended nobody acknowledges {', '.join(waiting)}"
            self._found("not-served", told)

    def _gather(self) -> None:
        """What the server says at the end, and what it shows of the workers' output."""
        try:
            client = self.cluster.client()
            self.evidence.answers = read_answers(client)
            for run in self.watcher.runs():
                answer = self.evidence.answers.get(run.label)
                if answer is not None and answer.id == run.job:
                    self.evidence.logs[run.key] = _output(client, run)
        except (MusterError, OSError) as error:
            self._found("not-served", f"at the end: {error}")

    def _down(self) -> None:
        """End everything as people do. Nothing may be left; or else the command says that it failed, and what is."""
        ended = self.cluster.run("down", "--jobs")
        if self.cluster.control is not None:
            self.cluster.control.poll()
        left = processes.find(self.cluster.mark)
        claims = self.watcher.held()
        if ended.returncode != 0:
            told = f"exit code {ended.returncode}: {ended.stderr.strip()[-300:]}; left: {[each.name for each in left]}"
            self._found("down-jobs", told)
        elif left or claims:
            told = f"all is ended, it said; left: {[each.name for each in left]}, claims {claims}"
            self._found("down-jobs", told)

    def _look_for_tracebacks(self) -> None:
        """Trouble that is expected is told in a line."""
        logs = {"the server": self.cluster.output}
        for home in (self.cluster.folder / "home", *self.cluster.folder.glob("second-*")):
            logs.update({f"a supervisor ({path.parent.name})": path for path in home.glob("nodes/*/supervisor.log")})
        for who, path in logs.items():
            text = path.read_text("utf-8", "replace") if path.exists() else ""
            for block in text.split("Traceback (most recent call last)")[1:]:
                last = next((line for line in block.splitlines()[1:] if line and not line.startswith(" ")), "")
                self._found("traceback", f"{who}: {last[:300]}")


def _output(client: Client, run: Run) -> str:
    """What the server shows of a worker's output."""
    try:
        pieces = [piece.text for piece in client.logs(run.job, rank=run.rank, attempt=run.attempt)]
    except NotFound:
        return ""
    return b"".join(pieces).decode("utf-8", "replace")
