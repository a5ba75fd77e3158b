"""Bugs in who may use which node and when, planted like those in `planted_bugs.py`."""

from collections.abc import Callable
from typing import Any

from muster.core.cluster import footprint, setting
from muster.core.cluster.node_filter import FilterKey, NodeFilter
from muster.core.cluster.tenancy import tenancy_of
from muster.engine.setting_aside import SettingAside
from muster.model.machines.reservation import Reservation
from muster.model.plan import Why
from muster.model.spec import Begin
from tests.simulation.planted_bugs import Patch, Plant


def the_time_to_begin_is_ignored(patch: Patch) -> None:
    patch.setattr(Begin, "begins_ms", lambda *_: 0)


def _filter_by(patch: Patch, change: Callable[[FilterKey], FilterKey]) -> None:
    """Nodes are filtered by something else than what the job says."""
    honest = NodeFilter.__init__

    def other(self: NodeFilter, key: FilterKey, *given: Any, **more: Any) -> None:
        honest(self, change(key), *given, **more)

    patch.setattr(NodeFilter, "__init__", other)


def excluded_nodes_are_used(patch: Patch) -> None:
    _filter_by(patch, lambda key: (*key[:2], (), *key[3:]))


def labels_make_no_difference(patch: Patch) -> None:
    _filter_by(patch, lambda key: ("", *key[1:]))


def exclusive_jobs_share_their_nodes(patch: Patch) -> None:
    def shared(*, exclusive: bool, admitted: int = 0) -> Any:
        return tenancy_of(exclusive=False, admitted=admitted)

    for module in (footprint, setting):
        patch.setattr(module, "tenancy_of", shared)


def reserved_nodes_are_open_to_all(patch: Patch) -> None:
    patch.setattr(Reservation, "admits", lambda *_: True)


def outsiders_stay_when_a_window_opens(patch: Patch) -> None:
    patch.setattr(SettingAside, "_outsiders", lambda *_: [])


def a_drained_node_is_not_emptied(patch: Patch) -> None:
    honest = SettingAside._tell

    def tell(self: SettingAside, job: Any, why: Why, *given: Any, **more: Any) -> None:
        if why is not Why.DRAIN:
            honest(self, job, why, *given, **more)

    patch.setattr(SettingAside, "_tell", tell)


PLANTED_IN_RESERVATIONS: dict[Plant, int] = {
    the_time_to_begin_is_ignored: 0,
    excluded_nodes_are_used: 9,
    labels_make_no_difference: 6,
    exclusive_jobs_share_their_nodes: 0,
    reserved_nodes_are_open_to_all: 0,
    outsiders_stay_when_a_window_opens: 0,
    a_drained_node_is_not_emptied: 13,
}
"""As in `planted_bugs.py`."""
