"""What the driver says of an interruption and of the saves before it."""

import json
import time
from pathlib import Path

from tests.survival.ledger import Entry, resumes
from tests.survival.saves import LOOK_S, SaveWatch, SeenSave
from tests.survival.trial import interruption


def a_part(folder: Path, node: str, rank: int, *, attempt: int = 1) -> None:
    """The part of a rank of step 40, as it is in the hot tier of a node. Ranks are on nodes of their number."""
    step = folder / node / "run" / "step-000000000040"
    step.mkdir(parents=True, exist_ok=True)
    part = {"step": 40, "rank": rank, "world": 2, "attempt": attempt, "node": f"n{rank}"}
    (step / f"rank-{rank:05d}-of-00002.json").write_text(json.dumps(part))


def watched(hot: Path, durable: Path) -> list[SeenSave]:
    watch = SaveWatch(hot, durable)
    time.sleep(3 * LOOK_S)
    watch.close()
    return watch.saves


def test_a_save_is_written_once_all_parts_are_there_and_copied_once_others_have_them(tmp_path: Path) -> None:
    a_part(tmp_path / "hot", "n0", 0)
    [save] = watched(tmp_path / "hot", tmp_path / "durable")
    assert (save.step, save.restart, save.is_written_s) == (40, 1, None)
    a_part(tmp_path / "hot", "n1", 1)
    a_part(tmp_path / "hot", "n1", 0)
    [save] = watched(tmp_path / "hot", tmp_path / "durable")
    assert save.is_written_s is not None
    assert save.is_copied_s is None
    a_part(tmp_path / "hot", "n0", 1)
    [save] = watched(tmp_path / "hot", tmp_path / "durable")
    assert save.is_copied_s is not None


def test_a_save_in_durable_storage_survives_any_node(tmp_path: Path) -> None:
    manifest = tmp_path / "durable" / "step-000000000040" / "manifest.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(json.dumps({"parts": [{"step": 40, "rank": 0, "world": 1, "attempt": 2, "node": "n0"}]}))
    [save] = watched(tmp_path / "hot", tmp_path / "durable")
    assert save.restart == 2
    assert save.is_copied_s is not None


def test_an_interruption_names_the_save_that_it_fell_back_to_and_those_after_it() -> None:
    steps = [Entry(step=step, loss="1", restart=0, at_s=10.0 + step) for step in range(1, 8)]
    [resume] = resumes([*steps, Entry(step=4, loss="1", restart=1, at_s=50.0)])
    saves = [
        SeenSave(step=1, restart=0, world=1, written_s={0: 11.2}, copied_s={0: 11.5}),
        SeenSave(step=3, restart=0, world=1, written_s={0: 13.25}, copied_s={0: 13.5}),
        SeenSave(step=6, restart=0, world=1),
    ]
    assert interruption("node", resume, steps, saves).told == (
        "node: 4.00 s of work lost, from 7 to 3 (3: step -4.00, written -3.75, copied -3.50;"
        " 6: step -1.00, not written, not copied)"
    )
