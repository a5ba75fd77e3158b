"""The `policy` part of a file by itself: of a file with nothing else, of a scenario, or of a server's configuration.

It is written as in a scenario; whatever else the file holds is left to others.
"""

from pathlib import Path

from muster.formats.document import Problems, read_document
from muster.formats.rules import policy_part
from muster.model.policy import Policy

PART = "policy"


def read_policy(source: str | Path) -> Policy:
    """The policy in a file; one without a `policy` part is refused."""
    document = read_document(source)
    problems = Problems(document)
    value = document.value.get(PART) if isinstance(document.value, dict) else None
    if value is None:
        problems.note_misspelt(PART)
        problems.add((), f"there is no {PART} part", f"{PART}: {{turns: false, …}}, or [{PART}] in TOML")
    policy = Policy() if value is None else policy_part(value, problems, (PART,))
    problems.stop_if_any()
    return policy
