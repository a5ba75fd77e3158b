"""Sends each command to the nodes that it concerns, and answers for workers that none of them knows.

A command that may concern a node which has not greeted yet waits for it. So does a start on the nodes of an engine
that has not said yet what it runs.
"""

import time
from dataclasses import dataclass

from muster.backends.allocations.allocations import Allocations, BackendParts
from muster.backends.local.link import LOOPBACK
from muster.backends.local.meeting.rendezvous_services import RendezvousServices
from muster.backends.local.training.agreements import Agreements
from muster.backends.local.worker_routing import NodeCommand, denied
from muster.failpoints import failpoint
from muster.model.instructions import Command, StartWorkers, ranks_named
from muster.model.records import evolve
from muster.worker.messages import encoded


@dataclass(frozen=True, slots=True)
class Dispatching:
    """From a command for a gang to messages for supervisors."""

    parts: BackendParts
    allocations: Allocations
    agreements: Agreements
    services: RendezvousServices

    def dispatch(self, command: Command) -> bool:
        """Send a command. False when it has to wait until more is known."""
        if self.parts.directory.is_older(command):
            return True
        is_older = self.parts.directory.is_of_older_attempt(command)
        unplaced = self.parts.directory.unplaced(command)
        # A node that was lost before it ever greeted may run any worker.
        if unplaced and not self.parts.nodes.are_known:
            return False
        if isinstance(command, StartWorkers) and not is_older:
            if not self.allocations.may_provide(command):
                return False
            refusals = self.allocations.provide(command)
            for rank, problem in refusals.items():
                self._deny(command, (rank,), problem)
            workers = tuple(worker for worker in command.workers if worker.rank not in refusals)
            command = evolve(command, workers=workers)
        self._send(command)
        self._deny(command, unplaced, "a newer attempt was heard of" if is_older else "never started")
        return True

    def _send(self, command: Command) -> None:
        is_agreed = self.agreements.takes(command)
        errands = self.parts.directory.route(command)
        host = self.parts.nodes.address(self.parts.directory.node_of(command.job))
        if isinstance(command, StartWorkers) and errands and errands[0].port:
            self.services.provide(command, LOOPBACK, errands[0].port)
        self.allocations.sent(command)
        for errand in errands:
            self._hand(errand, host, is_agreed=is_agreed)
        if is_agreed:
            self.agreements.begin(command)

    def _hand(self, errand: NodeCommand, host: str, *, is_agreed: bool) -> None:
        link = self.parts.nodes.by_name.get(errand.node)
        if link is not None and not link.is_lost:
            failpoint("send.before")
            meet = {"host": host, "port": errand.port}
            given = link.given(errand.command) if isinstance(errand.command, StartWorkers) else {}
            link.command({"command": encoded(link.told(errand.command)), "meet": meet, "agreed": is_agreed, **given})
            failpoint("send.after")
        elif link is None and not self.allocations.answers(errand.node, errand.command):
            self._deny(errand.command, ranks_named(errand.command), f"{errand.node} is no node of this machine")

    def _deny(self, command: Command, ranks: tuple[int, ...], message: str) -> None:
        """Report that workers which no node knows do not exist."""
        if ranks:
            self.parts.reports.tell(denied(command, ranks, message, time.time_ns() // 1_000_000))
