"""What a trial does, drawn from one number: its jobs, and which faults strike when."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chaos import surgeries  # noqa: F401 (makes its kinds known)
from tests.chaos.cluster import command
from tests.chaos.faults import KINDS, Kind

LAYOUTS = ("3x2", "4x2", "4x4")
MOMENTS = (3, 4, 5)
"""How many times something strikes in one trial."""
PAIR = 0.45
"""How often a second fault strikes at the same moment."""
FIRST_S, GAP_S = 0.2, 4.0
SUBMITTED_S = 9.0
"""Jobs are submitted over this long, most of them at the beginning."""
LIMIT_S = 6
GRACE_S = 2
NEVER_S = 600
"""How long a job works that only a limit or a cancel ends."""
FAILURE = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """A job, and how it must end when nothing harms it."""

    label: str
    at_s: float
    document: dict[str, Any]
    ends: str
    """`succeeded`, `failed`, `timed_out` or `cancelled`."""
    cancel_after_s: float | None = None
    """After it was acknowledged."""
    limit_s: float | None = None
    grace_s: float
    tasks: int = 0
    """Of an array; their labels end in their index."""

    @property
    def labels(self) -> tuple[str, ...]:
        """What the ledger calls it, or its tasks."""
        return tuple(f"{self.label}:{index}" for index in range(self.tasks)) if self.tasks else (self.label,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Blow:
    """One fault at one moment."""

    kind: str
    at_s: float
    hold_s: float
    pick: int
    """Chooses among what there is to strike at that moment."""
    is_paired: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A whole trial."""

    seed: int
    nodes: str
    database: str
    """`sqlite` or `postgresql`."""
    requests: tuple[JobRequest, ...]
    blows: tuple[Blow, ...]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What strikes, in order."""
        return tuple(KINDS[blow.kind] for blow in self.blows)


def plan(seed: int, folder: Path, only: Sequence[str] = (), exactly: Sequence[str] = ()) -> Plan:
    """The trial of a number: of all kinds of faults, of some only, or of exactly these one after another."""
    chance = random.Random(seed)
    wanted = tuple(exactly or only or KINDS)
    database = _database(chance, wanted)
    usable = [name for name in wanted if KINDS[name].suits(database)]
    if not usable:
        raise ValueError(f"no database suits all of {', '.join(wanted)}")
    blows = _in_order(chance, usable) if exactly else _drawn(chance, usable)
    return Plan(
        seed=seed,
        nodes=chance.choice(LAYOUTS),
        database=database,
        requests=tuple(_requests(chance, folder)),
        blows=blows,
    )


def _database(chance: random.Random, wanted: Sequence[str]) -> str:
    fitting = [name for name in ("sqlite", "sqlite", "postgresql") if any(KINDS[each].suits(name) for each in wanted)]
    all_fitting = [name for name in fitting if all(KINDS[each].suits(name) for each in wanted)]
    return chance.choice(all_fitting or fitting)


def _in_order(chance: random.Random, kinds: Sequence[str]) -> tuple[Blow, ...]:
    blows, at_s = [], FIRST_S
    for name in kinds:
        hold_s = KINDS[name].hold_s[0]
        blows.append(Blow(kind=name, at_s=at_s, hold_s=hold_s, pick=chance.randrange(1 << 20), is_paired=False))
        at_s += hold_s + 1.0
    return tuple(blows)


def _drawn(chance: random.Random, usable: Sequence[str]) -> tuple[Blow, ...]:
    """At each moment one fault or two. What rewrites history strikes once in a trial, so that it can be judged."""
    blows: list[Blow] = []
    at_s = FIRST_S
    for _ in range(chance.choice(MOMENTS)):
        at_s += chance.uniform(0, GAP_S)
        is_pair = chance.random() < PAIR
        for _ in range(1 + is_pair):
            taken = [KINDS[blow.kind] for blow in blows]
            left = [name for name in usable if _may_follow(KINDS[name], taken)]
            if not left:
                continue
            name = chance.choice(left)
            low, high = KINDS[name].hold_s
            # Most are short: a few long ones find what only long ones find.
            hold_s = low + (high - low) * chance.random() ** 3
            pick = chance.randrange(1 << 20)
            blows.append(Blow(kind=name, at_s=at_s, hold_s=hold_s, pick=pick, is_paired=is_pair))
            at_s += chance.uniform(0, 0.4)
    return tuple(blows)


def _may_follow(kind: Kind, taken: Sequence[Kind]) -> bool:
    return not kind.rewrites or not any(other.rewrites for other in taken)


def _requests(chance: random.Random, folder: Path) -> list[JobRequest]:
    """A mix of everything: the shapes are the same in each trial, sizes and times are not."""
    draft = _Draft(chance, folder)
    draft.add("single", seconds=chance.uniform(1, 5), gpus=1)
    draft.add("long", seconds=chance.uniform(8, 12), gpus=1)
    draft.add("gang", seconds=chance.uniform(2, 6), gpus=2, workers=chance.choice((2, 3)))
    draft.add("saver", seconds=chance.uniform(6, 10), gpus=2, workers=2, saves=True)
    draft.add("failing", seconds=chance.uniform(0.5, 3), gpus=1, code=FAILURE, ends="failed")
    draft.add("retried", seconds=1, gpus=1, code=FAILURE, ends="failed", retry={"limit": 1, "on": ["error"]})
    for name, stubborn in (("overrun", False), ("stubborn", True)):
        draft.add(name, seconds=NEVER_S, gpus=1, stubborn=stubborn, saves=True, limit_s=LIMIT_S, ends="timed_out")
    draft.add("cancelled", seconds=NEVER_S, gpus=1, ends="cancelled", cancel_after_s=chance.uniform(1, 6))
    draft.add(
        "unwilling",
        seconds=NEVER_S,
        gpus=1,
        workers=2,
        stubborn=True,
        saves=True,
        ends="cancelled",
        cancel_after_s=chance.uniform(2, 7),
    )
    draft.add("array", seconds=chance.uniform(0.5, 2), gpus=1, tasks=3)
    draft.add("elastic", seconds=chance.uniform(3, 6), gpus=1, workers="1..3", saves=True)
    draft.add("late", seconds=2, gpus=1, at_s=chance.uniform(SUBMITTED_S / 2, SUBMITTED_S))
    draft.add("later", seconds=2, gpus=2, workers=2, at_s=SUBMITTED_S)
    return draft.requests


class _Draft:
    """Collects the jobs of a trial."""

    def __init__(self, chance: random.Random, folder: Path) -> None:
        self._chance = chance
        self._folder = folder
        self.requests: list[JobRequest] = []

    def add(
        self,
        label: str,
        *,
        seconds: float,
        gpus: int,
        workers: int | str = 1,
        ends: str = "succeeded",
        at_s: float | None = None,
        cancel_after_s: float | None = None,
        limit_s: float | None = None,
        tasks: int = 0,
        retry: dict[str, Any] | None = None,
        **script: Any,
    ) -> None:
        """One more job."""
        given = {"folder": str(self._folder), "label": label, "seconds": round(seconds, 1), **script}
        document: dict[str, Any] = {
            "name": label,
            "team": "chaos",
            "workers": workers,
            "resources": {"gpus": gpus},
            "run": command(given),
        }
        if script.get("saves"):
            document["checkpoint"] = {"path": str(self._folder / "saves" / label), "grace": f"{GRACE_S}s"}
        if limit_s is not None:
            document["max_duration"] = f"{limit_s:g}s"
        if retry is not None:
            document["retry"] = retry
        if tasks:
            document["array"] = f"0-{tasks - 1}%2"
        early_s = self._chance.uniform(0, SUBMITTED_S / 2) if self._chance.random() < 0.5 else 0.0
        self.requests.append(
            JobRequest(
                label=label,
                at_s=early_s if at_s is None else at_s,
                document=document,
                ends=ends,
                cancel_after_s=cancel_after_s,
                limit_s=limit_s,
                grace_s=GRACE_S if script.get("saves") else 10,
                tasks=tasks,
            )
        )
