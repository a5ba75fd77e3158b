"""The allocations of all engines: asked for when workers start, watched, explained when they end, and ended.

    start ─▶ asked ─▶ waiting ─▶ running ── all workers gone and recorded ─▶ told to end ─▶ over
                         │          └────── ended by the engine: its word for each worker ──▶ over
                         └── stopped or killed before an agent came: cancelled ──────────────▶ over

A start of a newer attempt waits until the allocations of older ones are over. Only the thread that runs the loop calls
this.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from muster.attempt_token import read_job_access
from muster.backends.allocations.allocation import EngineAllocation
from muster.backends.allocations.book import AllocationBook
from muster.backends.allocations.calls import EngineCalls, EngineSeen, EngineUnheard, RequestAnswered
from muster.backends.allocations.doubts import Doubts
from muster.backends.allocations.engine import AllocationEngine, AllocationId, AllocationPhase, SeenAllocation
from muster.backends.allocations.link import AllocationLink
from muster.backends.allocations.lost_output import say_lost
from muster.backends.allocations.node_watch import Admit, NodeWatch
from muster.backends.allocations.posts import new_id, post_of
from muster.backends.allocations.register import AllocationRegister
from muster.backends.allocations.requests import request_for
from muster.backends.local.node_links import NodeLinks
from muster.backends.local.reporting import Reporting
from muster.backends.local.worker_routing import WorkerRouting
from muster.model.events import ObservedEvent, StartFailed, WorkersExited
from muster.model.ids import NodeName
from muster.model.instructions import Command, KillWorkers, SignalStop, StartWorkers
from muster.model.job import Worker
from muster.model.node import Node
from muster.model.node_limits import (
    ALLOCATION_END_S,
    ALLOCATION_LOOK_MS,
    ALLOCATION_SILENCE_S,
    ENGINE_LOOK_MS,
    OUTPUT_SEND_S,
)
from muster.model.records import evolve
from muster.worker.launch.devices import conflict
from muster.worker.loop import Loop


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendParts:
    """What the backend does for its allocations."""

    loop: Loop
    ring: Callable[[], None]
    """Wakes the thread that runs the loop. May be called on any thread."""
    leads: Callable[[], bool]
    """False while another control plane may lead. May be called on any thread."""
    nodes: NodeLinks
    reports: Reporting
    directory: WorkerRouting
    looked: Callable[[], None]
    """Called after every look: what waited for it may go on."""


class Allocations:
    """All allocations of one control plane."""

    def __init__(
        self, home: Path, engines: Sequence[AllocationEngine], around: BackendParts, admit: Admit = lambda _: ()
    ) -> None:
        """`admit` takes in nodes that engines get later."""
        self._home = home
        self._around = around
        self._book = AllocationBook(home)
        self._calls = {engine.name: EngineCalls(engine, self._book, around.leads, around.ring) for engine in engines}
        self._register = AllocationRegister(
            self._open_post,
            around.nodes.close_post,
        )
        self._watch = NodeWatch(around.reports.tell, self._register.links_on, admit)
        self._doubts = Doubts(around.reports.report)
        self._unasked: list[tuple[EngineAllocation, StartWorkers]] = []
        """Requests that wait for the end of an older attempt."""
        self._unlooked = dict.fromkeys(self._calls)
        """Engines that were not looked at since the start."""

    def open(self, nodes: Iterable[Node]) -> None:
        """Find what there is, and begin to watch. `nodes` are those of all engines as they are configured."""
        self._watch.begin(each for each in nodes if each.engine in self._calls)
        for allocation in self._book.read() if self._calls else ():
            self._register.add(allocation)
        for calls in self._calls.values():
            calls.start()
            self._look_again(calls)

    def close(self) -> None:
        """Make no more calls. Allocations go on."""
        for calls in self._calls.values():
            calls.close()

    @property
    def has_looked(self) -> bool:
        """True once every engine has said what it runs, or that it cannot."""
        return not self._unlooked

    def may_provide(self, start: StartWorkers) -> bool:
        """True once it is known what the engines of these nodes run already."""
        return self.has_looked or not any(self._watch.knows(worker.node) for worker in start.workers)

    def provide(self, start: StartWorkers) -> dict[int, str]:
        """Have posts for the workers of a start. Returns by rank why some cannot have one.

        Workers that are placed on a node that is lost get none either, and nobody is told: the loss was reported.
        """
        refusals: dict[int, str] = {}
        wanted: list[Worker] = []
        for worker in start.workers:
            if not self._watch.knows(worker.node) or self._register.placed(start, worker) is not None:
                continue
            if problem := conflict(worker, self._register.living(worker.node, but=start.job)):
                refusals[worker.rank] = problem
            elif not self._watch.is_lost(worker.node):
                wanted.append(worker)
        older = [each for each in self._register.of_job(start.job) if each.attempt < start.attempt]
        for each in older:
            self._doom(each)
        if wanted:
            self._want(start, wanted)
        self._ask()
        return refusals

    def post_of(self, start: StartWorkers, worker: Worker) -> NodeName:
        """The post of a worker; the node itself where there are no posts."""
        allocation = self._register.placed(start, worker)
        return worker.node if allocation is None else post_of(allocation.id, worker.node)

    def answers(self, post: NodeName, command: Command) -> bool:
        """True for a command to a post that is gone, or to a node that is lost. What is known is reported again."""
        node = post.rpartition("@")[2]
        if "@" not in post:
            return self._watch.knows(NodeName(node)) and self._watch.is_lost(NodeName(node))
        allocation = self._register.by_id.get(AllocationId(post.partition("@")[0]))
        for rank in () if allocation is None else _ranks(command):
            if allocation is not None and rank in allocation.ends:
                self._around.reports.tell(evolve(allocation.ends[rank], generation=command.generation))
        return post not in self._register.links

    def sent(self, command: Command) -> None:
        """A command goes to its posts. One that ends workers whose agent has never come ends their allocation."""
        if not isinstance(command, SignalStop | KillWorkers):
            return
        for allocation in self._register.of_job(command.job):
            ranks = [worker.rank for worker in allocation.workers if worker.rank in command.ranks]
            if not ranks or allocation.attempt != command.attempt:
                continue
            allocation.told.update(dict.fromkeys(ranks))
            if not any(link.has_greeted for link in self._register.links_of(allocation)):
                self._unwant(allocation)

    def heard(self, link: AllocationLink, number: int, event: ObservedEvent) -> bool:
        """Take note of a report. True when it is kept until the engine has said whether it had a hand in it."""
        allocation = link.allocation
        if isinstance(event, WorkersExited | StartFailed) and event.attempt == allocation.attempt:
            if self._doubts.keeps(link, number, event):
                self._look(allocation)
                return True
            allocation.ends.update(dict.fromkeys(event.ranks, event))
            return False
        return self._doubts.has(allocation) and self._doubts.keeps(link, number, event)

    def settle(self) -> None:
        """Hear what engines have answered, and end what is done."""
        for calls in self._calls.values():
            for answer in calls.answers():
                match answer:
                    case RequestAnswered():
                        self._submitted(answer)
                    case EngineSeen():
                        self._looked(calls, answer)
                    case EngineUnheard(problem=problem):
                        self._unlooked.pop(calls.engine.name, None)
                        self._watch.silent(calls.engine.name, problem)
                        self._around.looked()
        for allocation in tuple(self._register.by_id.values()):
            self._end_when_done(allocation)

    def _open_post(self, allocation: EngineAllocation, node: NodeName) -> AllocationLink:
        address, calls = "", self._calls.get(allocation.engine)
        if calls is not None:  # otherwise its engine is configured no more
            allocation.runs_images = calls.engine.runs_images
            address = calls.engine.address(allocation.id, node)
        return self._around.nodes.open_post(allocation, node, address or self._watch.address(node))

    def _want(self, start: StartWorkers, workers: list[Worker]) -> None:
        allocation = EngineAllocation(
            id=new_id(),
            engine=self._watch.engine(workers[0].node),
            job=start.job,
            attempt=start.attempt,
            workers=tuple(workers),
        )
        self._register.add(allocation)
        self._unasked.append((allocation, start))

    def _ask(self) -> None:
        """Ask for what need not wait any more."""
        waiting, self._unasked = self._unasked, []
        for allocation, start in waiting:
            if any(each.attempt < allocation.attempt for each in self._register.of_job(allocation.job)):
                self._unasked.append((allocation, start))
            elif allocation.is_unwanted:
                self._conclude(allocation)
            else:
                allocation.is_asked, allocation.since_s = True, time.monotonic()
                access = read_job_access(self._home)
                request = request_for(allocation, start, b"" if access is None else access.key, self._watch.gpu_type)
                self._calls[allocation.engine].submit(allocation, request)

    def _submitted(self, answer: RequestAnswered) -> None:
        allocation = answer.allocation
        if answer.is_refused:
            allocation.because = answer.problem
            ended, mistake = AllocationPhase.ENDED, answer.is_mistake
            self._conclude(allocation, SeenAllocation(id=allocation.id, engine_id="", phase=ended, is_mistake=mistake))
        elif answer.problem:
            allocation.because = answer.problem  # whether there is one, a look will show
        elif allocation.is_unwanted:
            self._calls[allocation.engine].cancel(allocation.engine_id)
        self._look(allocation)

    def _looked(self, calls: EngineCalls, answer: EngineSeen) -> None:
        self._unlooked.pop(calls.engine.name, None)
        if answer.nodes is not None:
            self._watch.looked(calls.engine.name, answer.nodes, self._register.by_id.values())
        for seen in answer.seen:
            allocation = self._register.by_id.get(seen.id)
            if allocation is None or allocation.is_over or seen.engine_id != (allocation.engine_id or seen.engine_id):
                if seen.phase in (AllocationPhase.WAITING, AllocationPhase.RUNNING) or seen.needs_cancel:
                    calls.cancel(seen.engine_id)  # nobody waits for it
            else:
                self._see(allocation, seen)
                if seen.needs_cancel and seen.phase is AllocationPhase.ENDING:
                    calls.cancel(seen.engine_id)
        found = {seen.id for seen in answer.seen}
        for allocation in tuple(self._register.by_id.values()):
            is_old = allocation.is_asked and allocation.since_s < answer.began_s and not allocation.is_over
            if allocation.engine == calls.engine.name and is_old and allocation.id not in found:
                self._missing(allocation)
            elif allocation.engine == calls.engine.name:
                self._doubts.settle(allocation, answer.began_s)
        self._around.looked()

    def _see(self, allocation: EngineAllocation, seen: SeenAllocation) -> None:
        """The engine has said how it is."""
        allocation.phase, allocation.engine_id = seen.phase, seen.engine_id
        allocation.because = seen.because or allocation.because
        if seen.phase is AllocationPhase.RUNNING:
            for node in allocation.nodes:
                if node not in seen.nodes and node not in seen.over and node not in allocation.lost:
                    self._lose(allocation, node)
            if all(node in allocation.lost or node in seen.over for node in allocation.nodes):
                self._conclude(allocation)  # nothing is left of it that the engine could say more about
        elif seen.phase is AllocationPhase.ENDING:
            # Whatever it runs is being killed. Agents that have reported the end of everything may go at once. Those
            # that were killed report nothing any more.
            links = [link for link in self._register.links_of(allocation) if link.is_up]
            reported = [worker for link in links for worker in allocation.on(link.real_node)]
            for link in links if self._doubts.has_all(allocation, reported) else ():
                if not link.is_told_to_end:
                    link.end_now()
        elif seen.phase is AllocationPhase.ENDED:
            self._conclude(allocation, seen)

    def _missing(self, allocation: EngineAllocation) -> None:
        """The engine knows nothing of it: it never came to be, or was forgotten. What still talks is ended first."""
        if not allocation.engine_id and time.monotonic() - allocation.since_s < ALLOCATION_END_S:
            return  # the request may still be on its way
        talking = [link for link in self._register.links_of(allocation) if link.is_up]
        for link in talking:
            link.end_now()
        if not talking:
            lost = "does not know it any more" if allocation.engine_id else "was not asked before the server ended"
            allocation.because = allocation.because or f"{allocation.engine} {lost}"
            self._conclude(allocation)

    def _lose(self, allocation: EngineAllocation, node: NodeName) -> None:
        """The engine has taken a node out of an allocation that goes on without it."""
        links = [link for link in self._register.links_of(allocation) if link.real_node == node]
        if any(link.is_up or link.is_awaited for link in links):
            return  # only the engine has lost sight of it
        allocation.lost[node] = None
        for link in links:
            self._register.close(link.node.name)
        self._watch.lost(node, allocation.because)

    def _conclude(self, allocation: EngineAllocation, seen: SeenAllocation | None = None) -> None:
        """Nothing of it is alive: say what became of every worker of which that is not known."""
        if allocation.is_over:
            return
        allocation.is_over = True
        cause = None if seen is None else seen.cause
        self._doubts.conclude(allocation, cause, allocation.because)
        generation, at_ms = self._around.directory.generation(allocation.job), time.time_ns() // 1_000_000
        for worker in () if allocation.is_doomed else allocation.living():
            post = post_of(allocation.id, worker.node)
            link = self._register.links.get(post)
            if worker.node in allocation.lost or self._watch.is_lost(worker.node):
                continue  # it is lost with its node
            was_up = link is not None and link.has_greeted
            end = allocation.end(worker, at_ms=at_ms, generation=generation, seen=seen, was_up=was_up)
            allocation.ends[worker.rank] = end
            self._around.reports.report(post, end, 0)
        for link in self._register.links_of(allocation):
            if link.has_output_left:
                say_lost(self._home, allocation, link.real_node, link.behind)
            self._register.close(link.node.name)
        self._ask()

    def _doom(self, allocation: EngineAllocation) -> None:
        """A newer attempt waits for its end. The command of the newer attempt kills what it runs."""
        if not allocation.is_doomed:
            allocation.is_doomed, allocation.since_s = True, time.monotonic()
            self._doubts.drop(allocation)
            self._look(allocation)  # the engine's answer ends it, once the command is out

    def _end_doomed(self, allocation: EngineAllocation) -> None:
        """End what talks, which sends its output first. Once nothing of it talks, the engine ends the rest."""
        links = self._register.links_of(allocation)
        for link in links:
            if link.is_up and not link.is_told_to_end:
                link.end_now()
        if not any(link.is_up for link in links) and not all(link.is_told_to_end for link in links):
            self._unwant(allocation)

    def _unwant(self, allocation: EngineAllocation) -> None:
        if allocation.is_unwanted or allocation.is_over:
            return
        allocation.is_unwanted, allocation.since_s = True, time.monotonic()
        if allocation.engine_id:
            self._calls[allocation.engine].cancel(allocation.engine_id)
            self._look(allocation)
        elif not allocation.is_asked:
            self._ask()

    def _end_when_done(self, allocation: EngineAllocation) -> None:
        """End what is done, and forget it once that is recorded. What does not end is cancelled."""
        is_recorded = all(self._around.reports.numbers.is_recorded(post) for post in allocation.posts)
        if allocation.is_over:
            if is_recorded:
                self._book.forget(allocation.id)
            return
        links = self._register.links_of(allocation)
        if allocation.is_doomed:
            self._end_doomed(allocation)
        if allocation.is_done and is_recorded and not allocation.is_doomed:
            if not any(link.is_told_to_end for link in links):
                allocation.since_s = time.monotonic()
            for link in links:
                link.end_orderly()
        patience_s = ALLOCATION_END_S + (OUTPUT_SEND_S if any(link.has_output_left for link in links) else 0)
        is_overdue = allocation.since_s and time.monotonic() - allocation.since_s > patience_s
        is_to_end = allocation.is_doomed or (allocation.is_done and is_recorded)
        if is_to_end and is_overdue:
            self._unwant(allocation)
        if allocation.phase is AllocationPhase.RUNNING and any(link.silent_s > ALLOCATION_SILENCE_S for link in links):
            allocation.because = allocation.because or "an agent in it was not heard of for too long"
            self._unwant(allocation)

    def _look(self, allocation: EngineAllocation) -> None:
        """Ask the engine now."""
        self._calls[allocation.engine].look(with_nodes=False)

    def _look_again(self, calls: EngineCalls) -> None:
        """Look at nodes now and then, and at allocations more often while something is about to happen."""
        is_busy = any(
            each.engine == calls.engine.name and not each.is_over and self._is_moving(each)
            for each in self._register.by_id.values()
        )
        calls.look(with_nodes=self._watch.is_due(calls.engine.name))
        self.settle()
        self._around.loop.after(ALLOCATION_LOOK_MS if is_busy else ENGINE_LOOK_MS, lambda: self._look_again(calls))

    def _is_moving(self, allocation: EngineAllocation) -> bool:
        links = self._register.links_of(allocation)
        is_asleep = allocation.phase is AllocationPhase.RUNNING and all(link.is_up for link in links)
        return not is_asleep or allocation.is_doomed or allocation.is_unwanted or self._doubts.has(allocation)


def _ranks(command: Command) -> tuple[int, ...]:
    match command:
        case StartWorkers(workers=workers):
            return tuple(worker.rank for worker in workers)
        case SignalStop(ranks=ranks) | KillWorkers(ranks=ranks):
            return ranks
        case _:
            return ()
