"""What only a server can say of admission rules: whether what they need is installed here."""

from collections.abc import Iterable
from importlib.metadata import entry_points

from muster.api.admission.messages import GROUP
from muster.formats.admission.expressions import require_library
from muster.formats.parts.wire import closest
from muster.model.errors import InvalidInput
from muster.model.policy import AdmissionRule


def check_admission(rules: Iterable[AdmissionRule]) -> None:
    """Raise unless the rules can be judged on this server."""
    rules = tuple(rules)
    if rules:
        require_library()
    known = {each.name for each in entry_points(group=GROUP)} if any(rule.plugin for rule in rules) else set()
    for rule in rules:
        if rule.plugin and rule.plugin not in known:
            hint = closest(rule.plugin, sorted(known), otherwise="no installed package has any")
            raise InvalidInput(f"admission rule {rule.name!r}: there is no plug-in {rule.plugin!r} here ({hint})")
