"""Sentences about ranks that are slow or stand still."""

from collections.abc import Sequence
from typing import Final

from muster.formats.text.units import duration_text, plain_number
from muster.model.events import HangFound, HangOver, StragglerFound, StragglerGone, VerdictEvent

RANKS_TOLD: Final = 8
"""How many ranks of a hang are listed; the others are only counted."""


def judged(event: VerdictEvent) -> str:
    """What was found about the ranks of a job."""
    match event:
        case StragglerFound(straggler=slow):
            devices = f", GPU {slow.gpus[0]}" if len(slow.gpus) == 1 else ""
            times = plain_number(slow.slowdown_milli // 10 * 10)
            return f"rank {slow.rank} on node {slow.node}{devices} takes {times} times as long as the others"
        case StragglerGone(rank=rank):
            return f"rank {rank} keeps up with the others again"
        case HangFound(hang=hang):
            who = f"; the others wait for {ranks_text(hang.ranks)}" if hang.nodes else ""
            still = duration_text((event.at_ms - hang.since_ms) // 1000 * 1000)
            return f"it stands still after step {hang.step}, for {still}{who}"
        case HangOver():
            return "it makes steps again"


def ranks_text(ranks: Sequence[int]) -> str:
    """Ranks in words; of many, the first."""
    shown = ", ".join(map(str, ranks[:RANKS_TOLD]))
    more = f" and {len(ranks) - RANKS_TOLD} more" if len(ranks) > RANKS_TOLD else ""
    return f"rank{'s' * (len(ranks) != 1)} {shown}{more}"
