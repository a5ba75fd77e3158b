"""The messages between the server and a process that judges: data and nothing else, in frames.

A frame is its length in four bytes, followed by that many bytes of JSON.
"""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from muster.formats.admission.judging import AskedJob, Judgement
from muster.model.policy import AdmissionRule

LENGTH_BYTES = 4
CONDITIONS, PLUGIN = "conditions", "plugin"
"""What a process judges by."""

GROUP = "muster.admission"
"""The entry point group of plug-ins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeQuestion:
    """What is asked of a process that judges by rules."""

    asked: AskedJob
    rules: tuple[AdmissionRule, ...] | None = None
    """None: those that it was given last."""
    first: int = 0
    skipped: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginQuestion:
    """What is asked of a plug-in."""

    view: dict[str, Any]
    user: str
    team: str
    now_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginAnswer:
    """What a plug-in said."""

    deny: str = ""
    warn: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    problem: str = ""
    """Why it said nothing that makes sense."""


encoded = msgspec.json.Encoder().encode
question = msgspec.json.Decoder(JudgeQuestion).decode
judgement = msgspec.json.Decoder(Judgement).decode
plugin_question = msgspec.json.Decoder(PluginQuestion).decode
plugin_answer = msgspec.json.Decoder(PluginAnswer).decode
