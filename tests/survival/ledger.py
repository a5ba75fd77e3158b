"""What a training wrote down itself: each step with its loss, its attempt and the time."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One step of one attempt."""

    step: int
    loss: str
    """As Python prints it, so that two are equal only if all bits are."""
    restart: int
    at_s: float


def entries(path: Path) -> list[Entry]:
    """All steps in the order in which they were done. A line that was cut off by a kill is left out."""
    lines = path.read_text("utf-8").splitlines(keepends=True) if path.exists() else []
    return [entry for line in lines if line.endswith("\n") and (entry := _entry(line.split())) is not None]


def _entry(words: list[str]) -> Entry | None:
    if len(words) != 4:
        return None
    return Entry(step=int(words[0]), loss=words[1], restart=int(words[2]), at_s=float(words[3]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """Where a training went on after it was interrupted."""

    reached: int
    """The last step before."""
    resumed: int
    """The first step after."""
    restart: int
    """The attempt that was interrupted."""
    last_s: float
    """When the last step before was done."""
    lost_s: float
    """How long the repeated work had taken, in the attempt that was interrupted."""
    stood_s: float
    """From the last step before to the first step after."""


def resumes(found: list[Entry]) -> Iterator[Resume]:
    """Every interruption that the steps show: an attempt after another, or steps that go back."""
    done_s: dict[int, float] = {}
    begun_s = found[0].at_s if found else 0.0
    for before, after in pairwise(found):
        done_s[before.step] = before.at_s
        if after.step != before.step + 1 or after.restart != before.restart:
            since_s, begun_s = max(done_s.get(after.step - 1, begun_s), begun_s), after.at_s
            yield Resume(
                reached=before.step,
                resumed=after.step,
                restart=before.restart,
                last_s=before.at_s,
                lost_s=before.at_s - since_s,
                stood_s=after.at_s - before.at_s,
            )


def differences(found: list[Entry], reference: list[Entry], *, within: float = 0.0) -> list[str]:
    """Steps whose loss is not that of the reference: bit for bit, or within a distance."""
    known = {entry.step: entry.loss for entry in reference}
    return [
        f"step {entry.step} (attempt {entry.restart}): {entry.loss} and not {known.get(entry.step)}"
        for entry in found
        if not _is_same(entry.loss, known.get(entry.step), within)
    ]


def _is_same(loss: str, wanted: str | None, within: float) -> bool:
    if wanted is None or not within:
        return loss == wanted
    return abs(float(loss) - float(wanted)) <= within
