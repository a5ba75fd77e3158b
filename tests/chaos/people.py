"""The clients of a server during a trial: one that submits and cancels, and one that keeps looking."""

import threading
import time
from collections.abc import Iterable

from muster.client import Client
from muster.client.answers import Job
from muster.model.errors import Conflict, InvalidInput, MusterError, NotFound, Refused
from tests.chaos.cluster import Cluster
from tests.chaos.evidence import FINAL, Answer, Asked, Evidence, Violation
from tests.chaos.ledger import Watcher, now_s
from tests.chaos.schedule import JobRequest

PAUSE_S = 0.25
LOOK_S = 0.2


class Submitter(threading.Thread):
    """Submits every job of a trial, under a key of its own, until it is acknowledged; then cancels some."""

    def __init__(self, cluster: Cluster, requests: Iterable[JobRequest], evidence: Evidence) -> None:
        super().__init__(name="submitter", daemon=True)
        self._cluster = cluster
        self._evidence = evidence
        self._requests = sorted(requests, key=lambda request: request.at_s)
        self._asked = {request.label: _asked(request) for request in self._requests}
        evidence.asked += self._asked.values()
        self._is_over = threading.Event()

    @property
    def is_done(self) -> bool:
        """True when everything was acknowledged, or refused for good."""
        return not any(self._is_open(request) for request in self._requests)

    def stop(self) -> None:
        """Ask for nothing more."""
        self._is_over.set()
        self.join()

    def ask_again(self) -> None:
        """Cancel once more what may have been forgotten with the database that knew it."""
        for asked in self._asked.values():
            if asked.cancel_asked_s is not None and self._evidence.is_rewritten(asked):
                asked.cancel_acked_s, asked.is_closed = None, False

    def run(self) -> None:
        """Ask again and again."""
        began_s = now_s()
        while not self._is_over.is_set():
            passed_s = now_s() - began_s
            for request in self._requests:
                if request.at_s <= passed_s and self._is_open(request) and not self._is_over.is_set():
                    self._ask(request)
            time.sleep(PAUSE_S)

    def _is_open(self, request: JobRequest) -> bool:
        asked = self._asked[request.label]
        return not asked.is_closed and (not asked.id or request.cancel_after_s is not None)

    def _ask(self, request: JobRequest) -> None:
        asked = self._asked[request.label]
        try:
            client = self._cluster.client()
            if not asked.id:
                asked.id = client.submit(request.document, key=f"chaos-{request.label}").id
                asked.acked_s = now_s()
            elif request.cancel_after_s is not None and now_s() >= asked.acked_s + request.cancel_after_s:
                self._cancel(client, asked)
        except (InvalidInput, Refused) as error:
            asked.is_closed = True
            self._evidence.found.append(Violation(rule="refused", told=f"{request.label}: {error}"))
        except (MusterError, OSError):
            pass  # away, hanging or full: the next time

    def _cancel(self, client: Client, asked: Asked) -> None:
        asked.cancel_asked_s = asked.cancel_asked_s or now_s()
        try:
            # A database that was replaced may have given the number to another job: people look before they cancel.
            if client.job(asked.id).name == asked.label:
                client.cancel(asked.id)
                asked.cancel_acked_s = now_s()
        except (NotFound, Conflict):
            pass  # it has ended already, or its database was replaced by an older one
        asked.is_closed = True


class Observer(threading.Thread):
    """Asks the server for all jobs, and the kernel whether those that it says have ended are gone."""

    def __init__(self, cluster: Cluster, watcher: Watcher, evidence: Evidence) -> None:
        super().__init__(name="observer", daemon=True)
        self._cluster = cluster
        self._watcher = watcher
        self._evidence = evidence
        self._is_over = threading.Event()
        self._acted_s: dict[str, float] = {}
        self._absent_s: dict[str, float] = {}
        self.stopped: dict[str, None] = {}
        """Nodes whose supervisors are stopped at present."""

    def stop(self) -> None:
        """Look no more."""
        self._is_over.set()
        self.join()

    def run(self) -> None:
        """Look at jobs and supervisors, again and again."""
        while not self._is_over.is_set():
            self._look_at_supervisors()
            self._look_at_jobs()
            time.sleep(LOOK_S)

    def _look_at_supervisors(self) -> None:
        """Note when a node has no supervisor that could act: from the last look at which one could."""
        acting = {each.node for each in self._cluster.supervisors() if each.node not in self.stopped}
        moment_s = now_s()
        for node in acting:
            if node in self._absent_s:
                self._evidence.unattended.setdefault(node, []).append((self._absent_s.pop(node), moment_s))
            self._acted_s[node] = moment_s
        for node in self._acted_s:
            if node not in acting:
                self._absent_s.setdefault(node, self._acted_s[node])

    def _look_at_jobs(self) -> None:
        asked_s = now_s()
        try:
            answers = read_answers(self._cluster.client())
        except (MusterError, OSError):
            return
        for label, answer in answers.items():
            if answer.state in FINAL:
                self._look_at_ended(label, answer, asked_s)
            elif label in self._evidence.ended:
                self._evidence.reopened.append((label, self._evidence.ended.pop(label)[0], answer.state))

    def _look_at_ended(self, label: str, answer: Answer, asked_s: float) -> None:
        # The state was read before the claim is looked at: a process that holds it now has outlived the end of the job.
        self._evidence.ended.setdefault(label, (now_s(), answer.state))
        held = self._watcher.holder_of(label)
        if held is not None and not self._evidence.is_outdated(asked_s):
            told = f"{label} is {answer.state} and process {held[0]} of it lives"
            self._evidence.found.append(Violation(rule="ended-while-alive", told=told))


def read_answers(client: Client) -> dict[str, Answer]:
    """All jobs by label, with the tasks of arrays instead of the arrays."""
    found: dict[str, Answer] = {}
    for job in client.jobs():
        if job.tasks is None:
            found[job.name] = _answer(job, job.name)
        else:
            for task in client.jobs(array=job.id):
                assert task.array is not None
                found[f"{job.name}:{task.array.index}"] = _answer(task, job.name)
    return found


def _answer(job: Job, name: str) -> Answer:
    return Answer(
        id=job.id,
        name=name,
        state=str(job.state),
        attempt=job.attempt,
        exit_code=job.exit_code,
        reason=str(job.reason or ""),
    )


def _asked(request: JobRequest) -> Asked:
    return Asked(
        label=request.label,
        ends=request.ends,
        grace_s=request.grace_s,
        limit_s=request.limit_s,
        is_elastic=isinstance(request.document["workers"], str),
        labels=request.labels,
    )
