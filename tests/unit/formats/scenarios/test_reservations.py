"""The `reservations` part of a scenario file."""

from typing import Any

import pytest

from tests.unit.formats.scenarios.builders import LATER, NOW, scenario, scenario_errors


def a_reservation(**changes: Any) -> dict[str, Any]:
    return {"name": "upkeep", "nodes": "n[1-2]", "from": NOW, "to": LATER, **changes}


def test_reservations_are_read_by_name() -> None:
    found = scenario(reservations=[a_reservation(name="z", user="ann"), a_reservation(team="nlp")]).reservations
    assert [(each.name, each.nodes, each.holder) for each in found] == [
        ("upkeep", ("n1", "n2"), "team nlp"),
        ("z", ("n1", "n2"), "user ann"),
    ]
    assert found[0].to_ms - found[0].from_ms == 4 * 3_600_000


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([a_reservation(to=NOW)], "reservations[0].to: is not after its beginning"),
        ([a_reservation(nodes=["n9"])], "reservations[0].nodes: there is no node 'n9'"),
        ([a_reservation(), a_reservation()], "reservations[1].name: there are two reservations 'upkeep'"),
        ([a_reservation(form=NOW)], "reservations[0].form: unknown key (did you mean 'from'?)"),
        ([a_reservation(name=f"r{n}") for n in range(65)], "reservations: 65 reservations are too many"),
    ],
)
def test_a_mistake_in_a_reservation_is_named(items: list[object], expected: str) -> None:
    errors = scenario_errors(reservations=items)
    assert any(error.startswith(expected) for error in errors), errors
