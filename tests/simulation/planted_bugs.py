"""Bugs to be planted in the production code, each one a programmer could have made. The campaign must find them."""

from collections.abc import Callable
from typing import Any

import pytest

from muster.backends.fake import FakeBackend
from muster.core.cluster import capacity
from muster.core.cluster.setting import Setting
from muster.core.lifecycle import (
    arrays,
    dependencies,
    endings,
    gang,
    requests,
    resizing,
    seats,
    stopping,
    timing,
    transitions,
)
from muster.core.order.quota import Ledger
from muster.core.planning import cycle
from muster.core.planning.rearranging import growing
from muster.engine import apply, consequences, controller
from muster.engine import engine as engine_module
from muster.engine.folding import projection
from muster.engine.folding.folding import fold
from muster.estimates.training import Training
from muster.model.instructions import WakeAt
from muster.model.job import Cause, JobState
from muster.model.node import NodeState
from muster.model.records import evolve
from muster.model.requests import JobHeld, JobReleased
from muster.sim.campaign.faulty_log import FaultyLog
from muster.sim.world import World

Patch = pytest.MonkeyPatch
Plant = Callable[[Patch], None]


def a_lost_node_keeps_its_jobs(patch: Patch) -> None:
    patch.setattr(gang, "node_lost", lambda job, _: (job, ()))


def survivors_of_a_lost_node_are_forgotten(patch: Patch) -> None:
    def abandon(job: Any, at_ms: int, *, cause: Cause) -> Any:
        return endings._after(job, cause, at_ms), ()

    patch.setattr(gang, "abandon", abandon)


def commands_are_not_fenced(patch: Patch) -> None:
    fake, world = FakeBackend.send, World.send

    def to_processes(self: Any, command: Any) -> None:
        if command.job in self._gangs:
            known = self._gangs[command.job]
            known.generation = min(known.generation, command.generation)
        fake(self, command)

    def to_gangs(self: Any, command: Any) -> None:
        training = self.trainings[command.job]
        training.generation = min(training.generation, command.generation)
        world(self, command)

    patch.setattr(FakeBackend, "send", to_processes)
    patch.setattr(World, "send", to_gangs)


def reports_are_not_fenced(patch: Patch) -> None:
    def current_ranks(job: Any, ranks: Any, generation: int) -> Any:
        alive = frozenset(seats.alive_ranks(job))
        return tuple(rank for rank in sorted(dict.fromkeys(ranks)) if rank in alive)

    patch.setattr(gang, "current_ranks", current_ranks)
    patch.setattr(transitions, "_is_of_now", transitions._is_addressed)


def a_repeated_exit_counts_again(patch: Patch) -> None:
    patch.setattr(seats, "alive_ranks", lambda job: tuple(worker.rank for worker in seats.occupied(job)))


def an_ended_job_listens(patch: Patch) -> None:
    def transition(job: Any, event: Any) -> Any:
        after, commands = transitions._step(job, event)
        due = timing.due_ms(after)
        return after, commands if due is None else (*commands, WakeAt(job=job.id, at_ms=due))

    for module in (transitions, apply):
        patch.setattr(module, "transition", transition)
    patch.setattr("muster.engine.folding.state.transition", transition)


def retries_are_not_counted(patch: Patch) -> None:
    honest = endings._requeued
    patch.setattr(endings, "_requeued", lambda job, cause, at_ms: evolve(honest(job, cause, at_ms), retries_used=0))


def faults_of_nodes_count_as_retries(patch: Patch) -> None:
    honest = endings._after_fault

    def after_fault(job: Any, cause: Cause, at_ms: int) -> Any:
        return honest(evolve(job, retries_used=job.retries_used + 1), cause, at_ms)

    patch.setattr(endings, "_after_fault", after_fault)


def a_preempted_job_has_failed(patch: Patch) -> None:
    honest = endings._after

    def after(job: Any, cause: Cause, at_ms: int) -> Any:
        if cause is Cause.PREEMPTED:
            return endings._ended(job, JobState.FAILED, cause, at_ms)
        return honest(job, cause, at_ms)

    patch.setattr(endings, "_after", after)


def a_hold_is_forgotten_when_the_job_waits_again(patch: Patch) -> None:
    honest = endings._requeued

    def requeued(job: Any, cause: Cause, at_ms: int) -> Any:
        return honest(evolve(job, held=False), cause, at_ms)

    patch.setattr(endings, "_requeued", requeued)


def a_hold_is_ignored_while_the_job_is_blocked(patch: Patch) -> None:
    honest = requests.follow

    def follow(job: Any, event: Any) -> Any:
        return (job, ()) if isinstance(event, JobHeld) and job.state is JobState.BLOCKED else honest(job, event)

    patch.setattr(requests, "follow", follow)


def a_release_forgets_dependencies(patch: Patch) -> None:
    honest = requests.follow

    def follow(job: Any, event: Any) -> Any:
        return honest(evolve(job, unmet=()) if isinstance(event, JobReleased) else job, event)

    patch.setattr(requests, "follow", follow)


def a_gang_starts_without_its_last_worker(patch: Patch) -> None:
    honest = apply._start

    def start(plan: Any, entry: Any, state: Any) -> Any:
        event = honest(plan, entry, state)
        return evolve(event, workers=event.workers[: max(1, len(event.workers) - 1)])

    patch.setattr(apply, "_start", start)


def no_job_is_protected_from_preemption(patch: Patch) -> None:
    patch.setattr(Setting, "is_preemptible", lambda *_: True)


def a_hold_is_lost_in_a_restart(patch: Patch) -> None:
    def skip_held(state: Any, event: Any) -> Any:
        if isinstance(event, JobHeld):
            state.version += 1
            return None
        return fold(state, event)

    patch.setattr(engine_module, "fold", skip_held)


def timers_are_not_set_again_after_a_restart(patch: Patch) -> None:
    patch.setattr(controller.Controller, "_set_timer", lambda *_: None)


def a_failed_job_releases_those_behind_it(patch: Patch) -> None:
    honest = dependencies.fate

    def fate(state: JobState, when: Any) -> Any:
        return dependencies.Fate.MET if state.is_final else honest(state, when)

    patch.setattr(dependencies, "fate", fate)


def dependents_are_not_told_of_an_ending(patch: Patch) -> None:
    patch.setattr(consequences, "_for_dependents", lambda *_: ())


def an_array_has_one_task_too_many(patch: Patch) -> None:
    honest = arrays._cap
    patch.setattr(arrays, "_cap", lambda spec: honest(spec) + 1)


def no_task_gets_its_turn(patch: Patch) -> None:
    patch.setattr(consequences, "_for_arrays", lambda *_: ())


def the_maximum_duration_is_not_enforced(patch: Patch) -> None:
    for module in (timing, stopping):
        patch.setattr(module, "notice_ms", lambda _: None)


def a_job_that_does_not_leave_is_not_killed(patch: Patch) -> None:
    patch.setattr(stopping, "_kill", lambda job, _: (job, ()))


def workers_given_up_are_gone_at_once(patch: Patch) -> None:
    honest = resizing.resize

    def resize(job: Any, event: Any) -> Any:
        after, commands = honest(job, event)
        return evolve(after, leaving=(), leaving_by_ms=None), commands

    patch.setattr(resizing, "resize", resize)


def draining_nodes_take_work(patch: Patch) -> None:
    honest = capacity._hardware

    def hardware(node: Any, pools: Any) -> Any:
        made = honest(node, pools)
        return made._replace(usable=made.usable or node.state is NodeState.DRAINING)

    patch.setattr(capacity, "_hardware", hardware)


def bad_gpus_are_used(patch: Patch) -> None:
    patch.setattr(capacity, "_usable_devices", lambda node: (1000,) * node.gpus)


def spot_takes_every_job(patch: Patch) -> None:
    honest = Setting.pools_for

    def pools_for(self: Any, *, tier: Any, team: Any, can_resume: bool) -> Any:
        return honest(self, tier=tier, team=team, can_resume=True)

    patch.setattr(Setting, "pools_for", pools_for)


def growth_ignores_the_quota(patch: Patch) -> None:
    honest = growing._one_step

    def one_step(draft: Any, entry: Any) -> Any:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(Ledger, "breach", lambda *_: None)
            return honest(draft, entry)

    patch.setattr(growing, "_one_step", one_step)


def growth_goes_one_beyond_the_maximum(patch: Patch) -> None:
    honest = growing._entry

    def entry(*args: Any, **fields: Any) -> Any:
        made = honest(*args, **fields)
        return made._replace(role=evolve(made.role, workers_max=made.role.workers_max + 1))

    patch.setattr(growing, "_entry", entry)


def waiting_again_loses_the_time_received(patch: Patch) -> None:
    honest = endings._requeued
    patch.setattr(endings, "_requeued", lambda job, cause, at_ms: evolve(honest(job, cause, at_ms), attained_gpu_ms=0))


def time_is_counted_twice_in_a_resize(patch: Patch) -> None:
    honest = endings.billed

    def billed(job: Any, at_ms: int) -> Any:
        return evolve(honest(job, at_ms), billed_ms=job.billed_ms)

    patch.setattr(gang, "billed", billed)


def a_new_attempt_forgets_the_checkpoint(patch: Patch) -> None:
    honest = gang.start

    def start(job: Any, event: Any) -> Any:
        after, commands = honest(job, event)
        return evolve(after, checkpointed_ms=None), commands

    patch.setattr(gang, "start", start)


def a_gang_succeeds_with_its_first_worker(patch: Patch) -> None:
    honest = endings.settled

    def settled(job: Any, at_ms: int) -> Any:
        return honest(evolve(job, finished_ranks=job.exited_ranks) if job.finished_ranks else job, at_ms)

    for module in (endings, gang, stopping):
        patch.setattr(module, "settled", settled, raising=False)


def late_reports_turn_the_clock_back(patch: Patch) -> None:
    patch.setattr(controller.Controller, "_in_order", lambda _, event: event)


def promises_are_forgotten(patch: Patch) -> None:
    patch.setattr(cycle, "renew_promises", lambda *_: {})


def two_engines_may_write(patch: Patch) -> None:
    honest = FaultyLog.append

    def append(self: Any, events: Any, _: int, **beside: Any) -> int:
        return honest(self, events, self.version, **beside)

    patch.setattr(FaultyLog, "append", append)


def lost_work_is_written_off_again_and_again(patch: Patch) -> None:
    def lose(self: Training) -> None:
        self.left = self.kept
        self.lost += self.unsaved

    patch.setattr(Training, "lose", lose)


def every_gang_changes_its_size_in_place(patch: Patch) -> None:
    def start_again(job: Any, event: Any) -> Any:
        return resizing._in_place(job, seats.reseat(job, event.workers), event.at_ms)

    patch.setattr(resizing, "_start_again", start_again)


def a_gang_gives_up_its_first_worker(patch: Patch) -> None:
    patch.setattr(seats.Reseating, "keeps_first", True)


def a_gang_that_starts_again_keeps_the_ranks_it_had(patch: Patch) -> None:
    honest = resizing._start_again

    def start_again(job: Any, event: Any) -> Any:
        after, commands = honest(job, event)
        return evolve(after, next_gang=seats.reseat(job, event.workers).workers), commands

    patch.setattr(resizing, "_start_again", start_again)


def others_get_the_seats_of_a_gang_that_starts_again(patch: Patch) -> None:
    patch.setattr(projection, "_staying", lambda job: job.workers)
    patch.setattr(projection, "_given_up", lambda job: job.leaving if job.state.holds_resources else ())


PLANTED: dict[Plant, int] = {
    a_lost_node_keeps_its_jobs: 1,
    survivors_of_a_lost_node_are_forgotten: 1,
    commands_are_not_fenced: 1,
    reports_are_not_fenced: 0,
    a_repeated_exit_counts_again: 2,
    an_ended_job_listens: 0,
    retries_are_not_counted: 0,
    faults_of_nodes_count_as_retries: 0,
    a_preempted_job_has_failed: 0,
    a_hold_is_forgotten_when_the_job_waits_again: 0,
    a_hold_is_ignored_while_the_job_is_blocked: 0,
    a_release_forgets_dependencies: 0,
    a_gang_starts_without_its_last_worker: 0,
    no_job_is_protected_from_preemption: 5,
    a_hold_is_lost_in_a_restart: 0,
    timers_are_not_set_again_after_a_restart: 0,
    a_failed_job_releases_those_behind_it: 1,
    dependents_are_not_told_of_an_ending: 0,
    an_array_has_one_task_too_many: 0,
    no_task_gets_its_turn: 0,
    the_maximum_duration_is_not_enforced: 0,
    a_job_that_does_not_leave_is_not_killed: 0,
    workers_given_up_are_gone_at_once: 3,
    draining_nodes_take_work: 2,
    bad_gpus_are_used: 2,
    spot_takes_every_job: 0,
    growth_ignores_the_quota: 2,
    growth_goes_one_beyond_the_maximum: 2,
    waiting_again_loses_the_time_received: 1,
    time_is_counted_twice_in_a_resize: 2,
    a_new_attempt_forgets_the_checkpoint: 0,
    a_gang_succeeds_with_its_first_worker: 11,
    late_reports_turn_the_clock_back: 2,
    promises_are_forgotten: 5,
    two_engines_may_write: 54,
    lost_work_is_written_off_again_and_again: 1,
    every_gang_changes_its_size_in_place: 5,
    a_gang_gives_up_its_first_worker: 40,
    a_gang_that_starts_again_keeps_the_ranks_it_had: 40,
    others_get_the_seats_of_a_gang_that_starts_again: 5,
}
"""Every bug and the first schedule that finds it; `measure_planted_bugs` says which that is."""
