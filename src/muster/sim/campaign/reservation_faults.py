"""What operators do with nodes: they set them aside for a time, take that back, and empty them."""

from collections.abc import Callable

from muster.model.ids import TeamPath
from muster.model.machines.reservation import Reservation
from muster.model.node import Node, NodeState
from muster.model.policy import HOUR_MS, MINUTE_MS
from muster.model.records import evolve
from muster.sim.campaign.random_cluster import TEAMS
from muster.sim.campaign.schedule import FaultAction, Happening
from muster.sim.campaign.state_invariants import ACTIVE
from muster.sim.campaign.trial import Trial

OPERATOR = "ada"
WINDOWS_MS = (20 * MINUTE_MS, HOUR_MS, 3 * HOUR_MS)
"""How long nodes are set aside."""
GRACES_MS = (None, MINUTE_MS)
"""How long jobs may take to leave: as long as they asked for, or this."""


class ReservationFaults:
    """Reservations, and drains that do not wait."""

    def __init__(self, trial: Trial, change: Callable[[Node, str], None]) -> None:
        """`change` changes a node that is up."""
        self._trial = trial
        self._change = change
        self._made = 0
        self.acts: dict[FaultAction, Callable[[Happening], None]] = {
            FaultAction.RESERVE: self._reserve,
            FaultAction.UNRESERVE: self._unreserve,
            FaultAction.EVICT: self._evict,
        }

    def make_good(self) -> None:
        """Take all reservations back."""
        aside = self._trial.engine.setting_aside
        for reservation in aside.reservations:
            aside.remove(reservation.name, self._trial.now_ms, by=OPERATOR)

    def _reserve(self, happening: Happening) -> None:
        """For a team, or for nobody; from now on, or later."""
        trial, pick = self._trial, happening.pick
        nodes = tuple(trial.engine.state.nodes)
        first = pick % len(nodes)
        from_ms = trial.now_ms + happening.amount_ms
        self._made += 1
        trial.engine.setting_aside.reserve(
            Reservation(
                name=f"r{self._made}",
                nodes=nodes[first : first + 1 + pick // 16 % 2],
                from_ms=from_ms,
                to_ms=from_ms + WINDOWS_MS[pick // 32 % len(WINDOWS_MS)],
                team=(TeamPath(""), *TEAMS)[pick // 128 % (1 + len(TEAMS))],
            ),
            trial.now_ms,
            by=OPERATOR,
        )

    def _unreserve(self, happening: Happening) -> None:
        aside = self._trial.engine.setting_aside
        if known := aside.reservations:
            aside.remove(known[happening.pick % len(known)].name, self._trial.now_ms, by=OPERATOR)

    def _evict(self, happening: Happening) -> None:
        """Drain a node, and tell what runs there to leave."""
        trial = self._trial
        nodes: tuple[Node, ...] = tuple(trial.engine.state.nodes.values())
        node = nodes[happening.pick % len(nodes)]
        if node.state is not NodeState.READY:
            return
        self._change(evolve(node, state=NodeState.DRAINING), "will be repaired")
        grace_ms = GRACES_MS[happening.pick // 16 % len(GRACES_MS)]
        told = trial.engine.setting_aside.evict(node.name, trial.now_ms, grace_ms=grace_ms, by=OPERATOR)
        jobs = trial.engine.state.jobs
        trial.fail_on(f"{job}: was told to leave {node.name} and runs on" for job in told if jobs[job].state in ACTIVE)
