"""Bugs of supervisors, of what is kept and of what is found on nodes, planted like those in `planted_bugs.py`."""

from typing import Any

from muster.backends.fake import KILLED
from muster.backends.fake import backend as fake_module
from muster.backends.fake.supervised import SupervisedBackend
from muster.core import spares
from muster.core.lifecycle import endings, found_gangs, gang, requests, stopping
from muster.engine import adoption
from muster.engine.folding import node_folding
from muster.engine.folding.quarantine import Quarantine
from muster.engine.folding.state import NOTHING
from muster.engine.paced_clock import PacedClock
from muster.engine.spare_nodes import SpareNodes
from muster.model.events import NodeLost, NodeUnreachable
from muster.model.job import Cause, JobState
from muster.model.records import evolve
from muster.sim.campaign.faulty_log import FaultyLog
from muster.worker.deadlines import Deadlines
from tests.simulation.planted_bugs import Patch, Plant


def an_unreachable_node_counts_as_lost(patch: Patch) -> None:
    def node_unreachable(job: Any, event: NodeUnreachable) -> Any:
        return gang.node_lost(job, NodeLost(at_ms=event.at_ms, node=event.node))

    patch.setattr(gang, "node_unreachable", node_unreachable)


def a_cancelled_job_does_not_wait_for_its_workers(patch: Patch) -> None:
    honest = requests._cancel

    def cancel(job: Any, at_ms: int) -> Any:
        if job.state is JobState.STOPPING:
            return endings._ended(job, JobState.CANCELLED, Cause.CANCELLED, at_ms), ()
        return honest(job, at_ms)

    patch.setattr(requests, "_cancel", cancel)


def a_kill_reaches_only_the_first_worker(patch: Patch) -> None:
    honest = stopping._kill
    patch.setattr(stopping, "_kill", lambda job, ranks: honest(job, ranks[:1]))


def a_limit_kept_by_a_node_is_an_error(patch: Patch) -> None:
    honest = gang.workers_exited
    patch.setattr(gang, "workers_exited", lambda job, event: honest(job, evolve(event, timed_out=False, told=False)))


def supervisors_keep_no_limits(patch: Patch) -> None:
    patch.setattr(Deadlines, "limit", lambda *_: None)


def supervisors_keep_no_grace_periods(patch: Patch) -> None:
    patch.setattr(Deadlines, "told", lambda *_: None)


def silence_is_not_absence(patch: Patch) -> None:
    honest = SupervisedBackend.fall_silent

    def fall_silent(self: Any, known_after_ms: int = 0) -> None:
        if not known_after_ms:
            honest(self)

    patch.setattr(SupervisedBackend, "fall_silent", fall_silent)


def a_clock_that_is_set_back_stands_still(patch: Patch) -> None:
    def go_on(self: Any, wall_ns: int) -> int:
        self._shown_ns = max(self._shown_ns, wall_ns)
        return int(self._shown_ns)

    patch.setattr(PacedClock, "_go_on", go_on)


def an_exit_record_is_ignored(patch: Patch) -> None:
    def recorded(self: Any, process: Any, _: Any) -> Any:
        return self._exit_report(process, code=KILLED)

    patch.setattr(SupervisedBackend, "_recorded", recorded)


def a_full_disk_is_not_noticed(patch: Patch) -> None:
    honest = FaultyLog.append

    def append(self: Any, events: Any, expected_version: int, **beside: Any) -> int:
        return expected_version + len(events) if self.is_full else honest(self, events, expected_version, **beside)

    patch.setattr(FaultyLog, "append", append)


def a_log_that_was_moved_is_not_noticed(patch: Patch) -> None:
    patch.setattr(FaultyLog, "_is_in_place", lambda _: True)


def nodes_without_a_supervisor_are_not_swept(patch: Patch) -> None:
    def end_everything(self: Any) -> None:
        for process in self._processes():
            if process.is_alive and self.is_attended(process.worker.node):
                process.is_told = True
                self._exit(process, code=KILLED)

    patch.setattr(SupervisedBackend, "end_everything", end_everything)


def what_a_node_runs_is_not_compared(patch: Patch) -> None:
    patch.setattr(node_folding, "_take_stock", lambda *_: NOTHING)


def the_gpus_of_unknown_gangs_are_given_out(patch: Patch) -> None:
    patch.setattr(Quarantine, "planned", lambda _, node: node)
    patch.setattr("muster.sim.campaign.state_invariants._snapshot", lambda *_: ())


def a_job_starts_beside_a_gang_of_its_own_that_is_unknown(patch: Patch) -> None:
    honest = found_gangs.found
    patch.setattr(found_gangs, "found", lambda job, event: (evolve(honest(job, event)[0], astray=()), ()))


def attempts_do_not_go_on_above_what_was_heard_of(patch: Patch) -> None:
    patch.setattr(node_folding, "of_interest", lambda event, _: evolve(event, seen=()))
    patch.setattr("muster.engine.engine.of_interest", lambda event, _: evolve(event, seen=()))


def a_gang_is_adopted_on_gpus_of_others(patch: Patch) -> None:
    patch.setattr(adoption, "_holder", lambda *_: None)


def a_takeover_does_not_fence(patch: Patch) -> None:
    patch.setattr(SupervisedBackend, "_fence", lambda _: None)


def a_node_gives_out_gpus_that_are_in_use(patch: Patch) -> None:
    patch.setattr(fake_module, "conflict", lambda *_: "")


def jobs_that_lost_a_node_wait_like_all_others(patch: Patch) -> None:
    patch.setattr(SpareNodes, "_recovering", lambda _: ())


def a_node_that_is_out_of_order_stays_a_spare(patch: Patch) -> None:
    honest = spares.with_free_nodes
    patch.setattr(spares, "with_free_nodes", lambda snapshot, present: present or honest(snapshot, present))


def spares_keep_large_jobs_from_running(patch: Patch) -> None:
    patch.setattr(spares.SpareChoice, "_are_in_the_way", lambda *_: False)


PLANTED_ON_NODES: dict[Plant, int] = {
    an_unreachable_node_counts_as_lost: 19,
    a_cancelled_job_does_not_wait_for_its_workers: 25,
    a_kill_reaches_only_the_first_worker: 0,
    a_limit_kept_by_a_node_is_an_error: 10,
    supervisors_keep_no_limits: 2,
    supervisors_keep_no_grace_periods: 59,
    silence_is_not_absence: 2,
    a_clock_that_is_set_back_stands_still: 22,
    an_exit_record_is_ignored: 316,
    a_full_disk_is_not_noticed: 32,
    a_log_that_was_moved_is_not_noticed: 9,
    nodes_without_a_supervisor_are_not_swept: 389,
    what_a_node_runs_is_not_compared: 11,
    the_gpus_of_unknown_gangs_are_given_out: 19,
    a_job_starts_beside_a_gang_of_its_own_that_is_unknown: 19,
    attempts_do_not_go_on_above_what_was_heard_of: 19,
    a_gang_is_adopted_on_gpus_of_others: 88,
    a_takeover_does_not_fence: 7,
    a_node_gives_out_gpus_that_are_in_use: 822,
    jobs_that_lost_a_node_wait_like_all_others: 30,
    a_node_that_is_out_of_order_stays_a_spare: 3,
    spares_keep_large_jobs_from_running: 23,
}
"""As in `planted_bugs.py`."""
