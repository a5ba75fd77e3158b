"""Jobs that keep a ledger, a person who submits them without a pause, and what has to be true of both afterwards."""

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from muster.client import Client
from muster.model.errors import MusterError
from tests.failover.planes import await_so

PAUSE_S = 0.15
SETTLED_S = 120.0
SHORT = "echo begin {label} $MUSTER_JOB $MUSTER_ATTEMPT $$ >> {ledger}; sleep 0.2; echo end {label} >> {ledger}"
LONG = "echo begin {label} $MUSTER_JOB $MUSTER_ATTEMPT $$ >> {ledger}; while [ ! -e {stop} ]; do sleep 0.1; done"


@dataclass(slots=True)
class Submitter:
    """Submits a short job again and again, and notes which were acknowledged."""

    client: Client
    ledger: Path
    acknowledged: dict[str, str] = field(default_factory=dict)
    """By label, the job's id."""
    unanswered: list[str] = field(default_factory=list)
    """Labels of submissions that ended with an error: they may or may not have become jobs."""
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _number: int = 0

    def start(self, prefix: str) -> None:
        """Begin to submit."""
        self._stop.clear()
        self._thread = threading.Thread(target=self._run, args=(prefix,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Submit no more."""
        self._stop.set()
        assert self._thread is not None
        self._thread.join()

    def _run(self, prefix: str) -> None:
        while not self._stop.is_set():
            self._number += 1
            label = f"{prefix}-{self._number}"
            run = SHORT.format(label=label, ledger=self.ledger)
            try:
                self.acknowledged[label] = self.client.submit({"name": "short", "run": run}, key=label).id
            except MusterError:
                self.unanswered.append(label)
            time.sleep(PAUSE_S)


def begin_long(client: Client, label: str, ledger: Path, stop: Path) -> str:
    """Start a job that runs until it is told to end, and wait until it runs."""
    run = LONG.format(label=label, ledger=ledger, stop=stop)
    job = client.submit({"name": "long", "run": run, "resources": {"gpus": 1}}, key=label).id
    await_so(lambda: f"begin {label} " in _text(ledger), f"{label} runs")
    return job


def settle(client: Client, jobs: list[str]) -> None:
    """Wait until all of these have ended."""
    left = set(jobs)

    def all_ended() -> bool:
        for job in list(left):
            if client.job(job).is_final:
                left.discard(job)
        return not left

    await_so(all_ended, "all jobs have ended", SETTLED_S)


def problems(client: Client, submitter: Submitter, ledger: Path, long_jobs: dict[str, str]) -> list[str]:
    """What is wrong with the ledger and with what the server says; empty when nothing is."""
    found = []
    begins = Counter(line.split()[1] for line in _text(ledger).splitlines() if line.startswith("begin "))
    for label, job in {**submitter.acknowledged, **long_jobs}.items():
        record = client.job(job)
        if record.state != "succeeded" or record.attempt != 1:
            found.append(f"{label} ({job}) is {record.state} after {record.attempt} attempts")
        if begins[label] != 1:
            found.append(f"{label} ({job}) was acknowledged and ran {begins[label]} times")
    found += [f"{label} ran {begins[label]} times" for label in submitter.unanswered if begins[label] > 1]
    known = {*submitter.acknowledged, *submitter.unanswered, *long_jobs}
    found += [f"{label} ran and was never submitted" for label in begins if label not in known]
    return found


def _text(ledger: Path) -> str:
    return ledger.read_text("utf-8") if ledger.exists() else ""
