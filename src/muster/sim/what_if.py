"""A process that answers one what-if question for a server: two replays, their figures, and a report.

The question comes on standard input. Lines of JSON go to standard output: how far it is, and at last the answer. The
process has a low CPU priority, and limits on its memory and its time.
"""

import base64
import hashlib
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from muster.estimates.training import Habits
from muster.model.client_limits import WHAT_IF_BYTES, WHAT_IF_S
from muster.model.errors import MusterError
from muster.model.trace import ReplaySetting, Trace, WhatIf
from muster.policies import NamedPolicy, find_policy
from muster.sim.measures import measures
from muster.sim.outcome import Replay
from muster.sim.replay import Circumstances, replay
from muster.sim.report import About, write_report
from muster.sim.report.page import scripts

NICENESS = 15
TODAY, CHANGED = "today", "changed"

Tell = Callable[[dict[str, Any]], None]


def main() -> None:
    """Answer the question on standard input."""
    os.nice(NICENESS)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (WHAT_IF_BYTES, WHAT_IF_BYTES))
    signal.alarm(WHAT_IF_S)  # The server ends it at the same time. This is for a server that is gone.
    question = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=WhatIf)
    try:
        answer(question, _tell)
    except MusterError as error:
        _tell({"problem": str(error)})
    except MemoryError:
        _tell({"problem": "the simulation needs more memory than it may have; choose a shorter time"})


def answer(question: WhatIf, tell: Tell) -> None:
    """Replay the jobs twice, and tell how far that is, the figures and the report."""
    trace = question.trace
    made = [
        _replayed(trace, question.today, TODAY, lambda part: tell({"done": part / 2})),
        _replayed(trace, question.changed, CHANGED, lambda part: tell({"done": (1 + part) / 2})),
    ]
    teams = question.today.rules.teams
    figures = [measures(each, teams) for each in made]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        write_report(made, path, title="What if", summaries=figures, teams=teams, about=About(facts=question.facts))
        report = path.read_text("utf-8")
    tell({TODAY: figures[0], CHANGED: figures[1], "report": report, "scripts": [_digest(each) for each in scripts()]})


def _replayed(trace: Trace, setting: ReplaySetting, name: str, tell: Callable[[float], None]) -> Replay:
    rules = setting.rules
    circumstances = Circumstances(
        habits=Habits(restart_cost_ms=rules.policy.restart_cost_ms),
        teams=rules.teams,
        pools=rules.pools,
        tiers=rules.tiers,
    )
    return replay(
        trace,
        setting.cluster,
        _policy(setting, name),
        circumstances,
        progress=lambda ended, jobs: tell(ended / max(jobs, 1)),
    )


def _policy(setting: ReplaySetting, name: str) -> NamedPolicy:
    """The policy of a setting, under the name that the report shows."""
    if setting.policy:
        return replace(find_policy(setting.policy), name=name, rules=setting.rules.policy)
    return NamedPolicy(name=name, summary=name, rules=setting.rules.policy)


def _digest(script: str) -> str:
    """What a content security policy calls a script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _tell(what: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
