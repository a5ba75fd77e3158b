"""Carries out the happenings of a schedule: by users, operators, machines and the engine's own process."""

from collections.abc import Callable
from contextlib import suppress

from muster.estimates.training import PARTS
from muster.model.errors import Conflict, Unavailable
from muster.model.ids import JobId
from muster.model.node import Node, NodeState
from muster.model.node_limits import CONTROL_SILENCE_MS
from muster.model.policy import HOUR_MS, MINUTE_MS
from muster.model.records import evolve
from muster.sim.campaign.backends import Absence
from muster.sim.campaign.random_cluster import SPOT
from muster.sim.campaign.reservation_faults import ReservationFaults
from muster.sim.campaign.schedule import FaultAction, Happening
from muster.sim.campaign.training_faults import TrainingFaults
from muster.sim.campaign.trial import Broken, Trial
from muster.sim.campaign.verdict_faults import VerdictFaults

NOTICE_MS = 2 * MINUTE_MS
"""How long before a spot node is reclaimed this is announced."""
OUTAGE_MS = 20 * MINUTE_MS
"""The longest time that the connection is cut."""

NEED_A_WRITER = (
    FaultAction.SUBMIT,
    FaultAction.HOLD,
    FaultAction.RELEASE,
    FaultAction.CANCEL,
    FaultAction.RETRY_ARRAY,
    FaultAction.KILL,
    FaultAction.USURP,
    FaultAction.STAND,
    FaultAction.REMOVE_CHECKPOINT,
    FaultAction.STRAGGLER,
    FaultAction.HANG,
    FaultAction.RESERVE,
    FaultAction.UNRESERVE,
    FaultAction.EVICT,
)
"""Actions that are skipped while the log cannot be written."""


class FaultActions:
    """Everything that can happen to one trial."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._training = TrainingFaults(trial)
        self._verdicts = VerdictFaults(trial)
        self._reservations = ReservationFaults(trial, self._change)
        self._down: dict[str, None] = {}
        """Nodes that are gone, whether or not the engine knows it."""
        self._acts: dict[FaultAction, Callable[[Happening], None]] = {
            FaultAction.SUBMIT: self._submit,
            FaultAction.HOLD: self._hold,
            FaultAction.RELEASE: self._release,
            FaultAction.CANCEL: self._cancel,
            FaultAction.RETRY_ARRAY: self._retry_array,
            FaultAction.LOSE_NODE: self._lose_node,
            FaultAction.LOSE_RACK: self._lose_rack,
            FaultAction.RETURN_NODE: self._return_node,
            FaultAction.DRAIN: self._drain,
            FaultAction.UNDRAIN: self._undrain,
            FaultAction.BREAK_GPU: self._break_gpu,
            FaultAction.MEND_GPU: self._mend_gpu,
            FaultAction.SLOW: self._slow,
            FaultAction.RECLAIM: self._reclaim,
            FaultAction.RESTART: self._restart,
            FaultAction.KILL: self._kill,
            FaultAction.USURP: self._usurp,
            FaultAction.OUTAGE: self._cut,
            FaultAction.MEET: self._meet,
            FaultAction.REPEAT: self._repeat,
            FaultAction.JUMP: self._jump,
            FaultAction.STAND: self._stand,
            FaultAction.SUPERVISOR: self._lose_supervisor,
            FaultAction.FREEZE: self._freeze,
            FaultAction.SET_BACK: self._set_back,
            FaultAction.LOG_FULL: self._fill_log,
            FaultAction.LOG_SILENT: self._lose_answer,
            FaultAction.LOG_MOVED: self._move_log,
            FaultAction.DOWN: self._end_everything,
            FaultAction.RESTORE: self._restore,
            FaultAction.TAKE_OVER: self._take_over,
            **self._training.acts,
            **self._verdicts.acts,
            **self._reservations.acts,
        }

    def happen(self, happening: Happening) -> None:
        """Let it happen, and everything that follows at the same moment."""
        trial = self._trial
        if trial.is_stuck and happening.action in NEED_A_WRITER:
            return
        try:
            self._acts[happening.action](happening)
            self._verdicts.look()
        except Unavailable as error:
            trial.start_again(f"{error}")
        trial.look(f"{happening.action}")
        trial.settle()

    def make_good(self) -> None:
        """End all faults: mend what is broken, release what is held, and let every message through."""
        trial = self._trial
        trial.mend_log()
        trial.link.calm()
        self._training.make_good()
        self._verdicts.make_good()
        self._reservations.make_good()
        for node in tuple(trial.engine.state.nodes.values()):
            self._down.pop(node.name, None)
            trial.tested.slow(node.name, PARTS)
            trial.tested.replace_supervisor(node.name)
            trial.tested.change(evolve(node, state=NodeState.READY, bad_gpus=()), "made good")
        for job in tuple(trial.engine.state.jobs):
            trial.engine.release(job, trial.now_ms)
        trial.history.held.clear()
        trial.engine.reconnect(trial.now_ms)
        trial.settle()
        for job in self._quarantined():
            trial.engine.kill_quarantined(job, trial.now_ms)
        trial.settle()

    def _is_done(self, ask: Callable[[], object]) -> bool:
        """True when what a user asked for is in the log. A user who gets no answer looks there."""
        trial, version = self._trial, self._trial.log.version
        try:
            ask()
        except Unavailable as error:
            trial.start_again(f"{error}")
            return trial.log.version > version
        return True

    def _submit(self, happening: Happening) -> None:
        trial, submission = self._trial, happening.submission
        if submission is None or submission.job in trial.engine.state.jobs:
            return
        spec, job = submission.spec, submission.job
        known = tuple(each for each in spec.depends_on if trial.engine.state.state_of(each.job) is not None)
        wanted = evolve(spec, depends_on=known)
        if self._is_done(lambda: trial.engine.submit(wanted, trial.now_ms, job=job, held=submission.held)):
            self._expect(job, happening)
            if submission.held:
                trial.history.held.update(dict.fromkeys(trial.engine.state.addressed(job)))

    def _expect(self, job: JobId, happening: Happening) -> None:
        if happening.submission is not None:
            for task in self._trial.engine.state.addressed(job):
                self._trial.tested.prepare(task, happening.submission)

    def _hold(self, happening: Happening) -> None:
        job = self._job(happening)
        if job is not None and self._is_done(lambda: self._trial.engine.hold(job, self._trial.now_ms)):
            self._trial.history.held.update(dict.fromkeys(self._trial.engine.state.addressed(job)))

    def _release(self, happening: Happening) -> None:
        """A user releases what is held, if anything is: a task alone, or its whole array."""
        trial, held = self._trial, tuple(self._trial.history.held)
        if held:
            job = held[happening.pick % len(held)]
            array = trial.engine.state.jobs[job].array_parent
            released = job if array is None or happening.pick % 2 else array
            if not self._is_done(lambda: trial.engine.release(released, trial.now_ms)):
                return
            for each in trial.engine.state.addressed(released):
                trial.history.held.pop(each, None)

    def _cancel(self, happening: Happening) -> None:
        job, state = self._job(happening), self._trial.engine.state
        if job is not None:
            living = [each for each in state.addressed(job) if not state.jobs[each].state.is_final]
            if self._is_done(lambda: self._trial.engine.cancel(job, self._trial.now_ms)):
                self._trial.history.cancelled.update(dict.fromkeys(living))

    def _retry_array(self, happening: Happening) -> None:
        """Retry the failed tasks of an array that has ended. They behave as in the first submission."""
        trial = self._trial
        for array in tuple(trial.engine.state.arrays):
            if trial.engine.progress(array).state.is_final:
                first = next(
                    (each for each in trial.schedule.happenings if each.submission and each.submission.job == array),
                    happening,
                )
                before = tuple(trial.engine.state.arrays)
                self._is_done(lambda: trial.engine.retry_failed(array, trial.now_ms))  # noqa: B023 - called at once
                for new in tuple(each for each in trial.engine.state.arrays if each not in before):
                    self._expect(new, first)
                return

    def _lose_node(self, happening: Happening) -> None:
        self._lose(self._node(happening))

    def _lose_rack(self, happening: Happening) -> None:
        domains = self._node(happening).domains
        for node in tuple(self._trial.engine.state.nodes.values()):
            if node.domains == domains:
                self._lose(node)

    def _lose(self, node: Node) -> None:
        if node.name not in self._down:
            self._down[node.name] = None
            self._trial.tested.lose(node.name)

    def _return_node(self, happening: Happening) -> None:
        if self._down:
            name = tuple(self._down)[happening.pick % len(self._down)]
            del self._down[name]
            nodes = self._trial.engine.state.nodes
            node = next(each for each in nodes.values() if each.name == name)
            self._trial.tested.change(evolve(node, state=NodeState.READY), "returned")

    def _drain(self, happening: Happening) -> None:
        self._change(evolve(self._node(happening), state=NodeState.DRAINING), "maintenance")

    def _undrain(self, happening: Happening) -> None:
        self._change(evolve(self._node(happening), state=NodeState.READY), "maintenance is over")

    def _break_gpu(self, happening: Happening) -> None:
        node = self._node(happening)
        gpu = happening.pick % node.gpus
        self._change(evolve(node, bad_gpus=tuple(sorted({*node.bad_gpus, gpu}))), "a GPU failed")

    def _mend_gpu(self, happening: Happening) -> None:
        self._change(evolve(self._node(happening), bad_gpus=()), "GPUs were replaced")

    def _slow(self, happening: Happening) -> None:
        if self._node(happening).name not in self._down:
            self._trial.tested.slow(self._node(happening).name, PARTS // 3 if happening.pick % 2 else PARTS)

    def _reclaim(self, happening: Happening) -> None:
        """Announce that a spot node will be reclaimed, and then take it away."""
        spot = [node for node in self._trial.engine.state.nodes.values() if node.pool == SPOT]
        if spot:
            node = spot[happening.pick % len(spot)]
            self._change(evolve(node, state=NodeState.DRAINING), "will be reclaimed")
            self._trial.pass_time(self._trial.backend_ms + NOTICE_MS)
            self._lose(node)

    def _restart(self, _: Happening) -> None:
        self._trial.refold()
        self._trial.restart()

    def _kill(self, happening: Happening) -> None:
        """The engine writes to the log and dies before it sends any command."""
        trial = self._trial
        trial.link.is_cut, was_cut = True, trial.link.is_cut
        trial.settle()
        if not trial.is_stuck:
            self._cancel(happening)
        trial.link.is_cut = was_cut
        trial.restart()

    def _usurp(self, _: Happening) -> None:
        """A second engine takes over while the first still believes that it is the only one."""
        trial = self._trial
        old = trial.engine
        trial.restart()
        version, sent = trial.log.version, len(trial.link.sent)
        if old.state.version == version:
            return
        try:
            for job in tuple(old.state.jobs):
                old.cancel(job, trial.now_ms)
            old.tick(trial.now_ms)
        except (Conflict, Unavailable):
            pass
        if trial.log.version != version or len(trial.link.sent) != sent:
            raise Broken(["an engine that is out of date has written or sent something"])

    def _cut(self, happening: Happening) -> None:
        """Cut the connection for a while. The engine is told when it is up again."""
        self._trial.link.cut()
        self._trial.pass_time(self._trial.backend_ms + min(happening.amount_ms, OUTAGE_MS))
        self._meet(happening)

    def _meet(self, _: Happening) -> None:
        self._trial.link.join()
        if not self._trial.is_stuck:
            self._trial.engine.reconnect(self._trial.now_ms)

    def _repeat(self, happening: Happening) -> None:
        if problem := self._trial.link.repeat(happening.pick):
            raise Broken([problem])

    def _jump(self, happening: Happening) -> None:
        """The engine does not run for a while. Then it gets all reports at once."""
        self._freeze(happening)

    def _stand(self, _: Happening) -> None:
        """Ticks without time passing change nothing."""
        version = self._trial.log.version
        for _again in range(3):
            self._trial.engine.tick(self._trial.now_ms)
        if self._trial.log.version != version:
            raise Broken(["ticks at one moment after all was said go on changing things"])

    def _lose_supervisor(self, happening: Happening) -> None:
        """A supervisor dies. Later a successor comes; in some cases the node is swept first."""
        node, pick = self._node(happening), happening.pick
        if node.name not in self._down:
            absence = Absence(
                noticed_after_ms=(0, 0, 1_000, MINUTE_MS)[pick // 16 % 4],
                ends_after_ms=happening.amount_ms,
                is_swept=pick // 64 % 4 == 0,
            )
            self._trial.tested.lose_supervisor_for(node.name, absence)

    def _freeze(self, happening: Happening) -> None:
        """The engine's process is frozen with its connections open."""
        trial = self._trial
        trial.freeze(trial.backend_ms + happening.amount_ms, CONTROL_SILENCE_MS)

    def _set_back(self, _: Happening) -> None:
        self._trial.set_wall_clock(-HOUR_MS)

    def _fill_log(self, happening: Happening) -> None:
        """The disk is full for a while."""
        self._trial.log.is_full = True
        self._trial.break_log(happening.amount_ms)

    def _move_log(self, happening: Happening) -> None:
        """The file of the log is moved away, and later back."""
        self._trial.log.is_moved = True
        self._trial.break_log(happening.amount_ms)

    def _lose_answer(self, _: Happening) -> None:
        self._trial.log.loses_answer = True

    def _end_everything(self, _: Happening) -> None:
        """The operator stops the control plane and every job, and starts Muster again."""
        trial = self._trial
        trial.tested.end_everything()
        trial.fail_on(
            f"{seat.job}: is alive on {seat.worker.node} after all was ended" for seat in trial.tested.seats()
        )
        trial.restart()

    def _restore(self, happening: Happening) -> None:
        """An operator restores an older copy of the log, or an empty one, while every node can report what it runs."""
        trial = self._trial
        names = tuple(trial.engine.state.nodes)
        is_whole = trial.log.can_be_written and not trial.link.is_cut and not self._down
        if not trial.tested.says_what_runs or not is_whole or not all(map(trial.tested.is_attended, names)):
            return
        trial.restore(0 if happening.pick % 4 == 0 else trial.log.version * (happening.pick // 4 % 100) // 100)
        trial.history.is_adopting = True
        for job in self._quarantined() if happening.pick % 3 else ():
            with suppress(Conflict):
                trial.engine.adopt(job, trial.now_ms)
                trial.link.know(job, trial.engine.state.jobs[job].attempt)
        trial.look("the adoption")
        trial.history.is_adopting = False

    def _take_over(self, _: Happening) -> None:
        """An operator starts Muster in another home, on the same log. All nodes of that home are there."""
        trial = self._trial
        if trial.tested.says_what_runs and trial.log.can_be_written and not trial.link.is_cut:
            self._down.clear()
            trial.take_over()

    def _quarantined(self) -> tuple[JobId, ...]:
        gangs = self._trial.engine.state.quarantine.gangs.values()
        return tuple(dict.fromkeys(gang.job for found in gangs for gang in found))

    def _change(self, node: Node, because: str) -> None:
        """Change a node that is up and has a supervisor."""
        if node.name not in self._down and self._trial.tested.is_attended(node.name):
            self._trial.tested.change(node, because)

    def _node(self, happening: Happening) -> Node:
        nodes = tuple(self._trial.engine.state.nodes.values())
        return nodes[happening.pick % len(nodes)]

    def _job(self, happening: Happening) -> JobId | None:
        """A job or an array that has not ended, if there is one."""
        state = self._trial.engine.state
        names = [job.id for job in state.jobs.values() if not job.state.is_final]
        names += [array for array, tally in state.arrays.items() if not tally.progress().state.is_final]
        return names[happening.pick % len(names)] if names else None
