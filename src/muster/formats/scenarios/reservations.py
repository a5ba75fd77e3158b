"""The `reservations` part of a scenario -> model values, checked against cluster and teams."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, PlainValidator

from muster.formats.jobs.job_values import nodes_named
from muster.formats.parts.kinds import Name, Text, Time
from muster.formats.parts.wire import Wire, closest, read_part
from muster.formats.scenarios.references import References
from muster.formats.text.document import Problems
from muster.formats.text.yaml_text import Loc
from muster.model.ids import NodeName, TeamPath
from muster.model.machines.reservation import RESERVATIONS, Reservation


class ReservationWire(Wire):
    """Nodes that are set aside. With neither a team nor a user, for nobody."""

    name: Name
    nodes: Annotated[tuple[NodeName, ...], PlainValidator(nodes_named)]
    start: Time = Field(alias="from")
    end: Time = Field(alias="to")
    team: Text = ""
    user: Text = ""
    because: Text = ""

    @classmethod
    def known_keys(cls) -> Mapping[str, Any]:
        """The keys as they are written."""
        return {info.alias or name: info.rebuild_annotation() for name, info in cls.model_fields.items()}


def reservations_part(items: Sequence[object], references: References, problems: Problems) -> tuple[Reservation, ...]:
    """All reservations, by name."""
    found: dict[str, Reservation] = {}
    for place, item in enumerate(items):
        at: Loc = ("reservations", place)
        wire = read_part(ReservationWire, item, problems, at)
        if wire is None:
            continue
        _check(wire, references, problems, at)
        if wire.name in found:
            problems.add((*at, "name"), f"there are two reservations {wire.name!r}", "names are unique")
        found[wire.name] = Reservation(
            name=wire.name,
            nodes=wire.nodes,
            from_ms=wire.start,
            to_ms=wire.end,
            team=TeamPath(wire.team),
            user=wire.user,
            because=wire.because,
        )
    if len(found) > RESERVATIONS:
        problems.add(("reservations",), f"{len(found)} reservations are too many", f"at most {RESERVATIONS}")
    return tuple(found[name] for name in sorted(found))


def _check(wire: ReservationWire, references: References, problems: Problems, at: Loc) -> None:
    if wire.end <= wire.start:
        problems.add((*at, "to"), "is not after its beginning")
    if wire.team:
        references.check_team(wire.team, problems, (*at, "team"))
    known = references.known_nodes
    for name in wire.nodes if known is not None else ():
        if known is not None and name not in known:
            problems.add((*at, "nodes"), f"there is no node {str(name)!r}", closest(str(name), map(str, known)))
            return
