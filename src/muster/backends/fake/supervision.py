"""Which nodes have no supervisor, and whether the control plane is heard."""

from dataclasses import dataclass, field

from muster.model.ids import NodeName


@dataclass(slots=True)
class Supervision:
    """Nodes without a supervisor, and supervisors without a control plane."""

    absences: dict[NodeName, int] = field(default_factory=dict)
    """The nodes that have no supervisor, each with the number of its absence. So what was planned for an earlier
    absence of the same node finds that it is over."""
    unnoticed: dict[NodeName, None] = field(default_factory=dict)
    """The nodes without a supervisor whose absence was not reported yet."""
    is_alone: bool = False
    """True while the supervisors know that no control plane is there: they enforce limits by themselves."""
    _numbered: int = 0
    _contact: int = 0

    def leave(self, node: NodeName) -> int:
        """The supervisor of a node is gone. Returns the number of this absence."""
        self._numbered += 1
        self.absences[node] = self._numbered
        self.unnoticed[node] = None
        return self._numbered

    def is_absence(self, node: NodeName, number: int) -> bool:
        """True while this absence lasts."""
        return self.absences.get(node) == number

    def come(self, node: NodeName) -> None:
        """A node has a supervisor again, or is gone as a whole."""
        self.absences.pop(node, None)
        self.unnoticed.pop(node, None)

    def fall_silent(self) -> int:
        """The control plane says nothing any more. Returns the number of this silence."""
        self._contact += 1
        return self._contact

    def is_silence(self, number: int) -> bool:
        """True while this silence lasts."""
        return self._contact == number

    def hear(self) -> None:
        """The control plane is heard again."""
        self._contact += 1
        self.is_alone = False
