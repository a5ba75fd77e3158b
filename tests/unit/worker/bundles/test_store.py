"""The store of bundles: each content once, apart for each team, and collected when no job needs it."""

import ctypes
import errno
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from muster.worker.bundles import store as stores
from muster.worker.bundles.collecting import KEPT_S, UNUSED_S, collect
from muster.worker.bundles.manifest import BLOCK_BYTES, BadManifest, BundleEntry, BundleManifest, Origin, digest
from muster.worker.bundles.store import BundleStore, NoRoom, joined_blocks, split_blocks, team_store

DAY_S = 86_400.0


def a_bundle(store: BundleStore, *contents: bytes, diff: bytes = b"") -> BundleManifest:
    entries = tuple(
        BundleEntry(path=f"{number}.py", size=len(each), blocks=(digest(each),)) for number, each in enumerate(contents)
    )
    origin = Origin(diff=(digest(diff),), diff_bytes=len(diff)) if diff else Origin()
    manifest = BundleManifest(entries=entries, origin=origin)
    for each in (*contents, *((diff,) if diff else ())):
        store.put_block(each)
    store.put_manifest(manifest)
    return manifest


def age(store: BundleStore, by_s: float) -> None:
    for file in store.folder.rglob("*"):
        if file.is_file():
            at_s = file.stat().st_mtime - by_s
            os.utime(file, (at_s, at_s))


def files(root: Path) -> int:
    return sum(1 for each in root.rglob("*") if each.is_file())


def test_a_block_is_stored_once_and_cannot_be_written_to(tmp_path: Path) -> None:
    store = team_store(tmp_path, "nlp")
    manifest = a_bundle(store, b"one", b"two")
    assert store.missing(manifest) == []
    assert a_bundle(store, b"one").id != manifest.id
    assert files(store.folder / "blocks") == 2
    assert store.block_path(digest(b"one")).stat().st_mode & 0o777 == 0o400
    assert b"".join(store.read((digest(b"one"), digest(b"two")))) == b"onetwo"
    assert store.manifest(manifest.id) == manifest


def test_the_blocks_are_durable_before_the_manifest_is_there_and_the_manifest_before_it_is_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = team_store(tmp_path, "nlp")
    there: list[bool] = []
    sync = stores._sync

    def look(folder: Path) -> None:
        there.append(any(folder.iterdir()))
        sync(folder)

    monkeypatch.setattr(stores, "_sync", look)
    a_bundle(store, b"one", b"two")
    assert there == [False, True]


def test_a_disk_that_cannot_be_written_to_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> int:
        ctypes.set_errno(errno.EIO)
        return -1

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: SimpleNamespace(syncfs=fail))
    with pytest.raises(OSError, match="Input/output error"):
        a_bundle(team_store(tmp_path, "nlp"), b"one")
    assert not list((team_store(tmp_path, "nlp").manifests).iterdir())


def test_another_team_neither_has_nor_learns_of_it(tmp_path: Path) -> None:
    manifest = a_bundle(team_store(tmp_path, "nlp"), b"one")
    other = team_store(tmp_path, "vision")
    assert not other.has(manifest.id)
    assert other.manifest(manifest.id) is None
    assert other.missing(manifest) == [digest(b"one")]


@pytest.mark.parametrize("name", ["", "../../token", "A" * 64, "a" * 63, "/etc/passwd"])
def test_a_bundle_is_named_by_a_digest_and_by_nothing_else(tmp_path: Path, name: str) -> None:
    store = team_store(tmp_path, "nlp")
    assert not store.has(name)
    assert store.manifest(name) is None


def test_what_was_changed_on_the_disk_is_not_handed_out(tmp_path: Path) -> None:
    store = team_store(tmp_path, "nlp")
    manifest = a_bundle(store, b"one")
    block = store.block_path(digest(b"one"))
    block.chmod(0o600)
    block.write_bytes(b"two")
    with pytest.raises(OSError, match="damaged"):
        list(store.read((digest(b"one"),)))
    file = store.manifests / manifest.id
    file.chmod(0o600)
    file.write_bytes(a_bundle(store, b"three").text)
    assert store.manifest(manifest.id) is None


def test_nothing_is_stored_on_a_disk_that_is_nearly_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "FREE_LEAST_BYTES", 1 << 60)
    with pytest.raises(NoRoom, match="nearly full"):
        team_store(tmp_path, "nlp").put_block(b"one")


def test_blocks_in_a_body_come_out_as_they_went_in() -> None:
    assert split_blocks(joined_blocks([b"one", b"x" * 300])) == [b"one", b"x" * 300]
    for cut in (b"\0", b"\0\0\0\5four", b"\0\0\0\0", joined_blocks([b"one"]) + b"\0\0"):
        with pytest.raises(BadManifest, match="cut off"):
            split_blocks(cut)


@pytest.mark.parametrize("data", [b"", b"x" * (BLOCK_BYTES + 1)])
def test_a_block_is_neither_empty_nor_larger_than_a_block(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(BadManifest, match="a block has"):
        team_store(tmp_path, "nlp").put_block(data)


def test_a_bundle_stays_while_a_job_uses_it_and_a_month_after_that(tmp_path: Path) -> None:
    store = team_store(tmp_path, "nlp")
    manifest = a_bundle(store, b"one", diff=b"difference")
    age(store, KEPT_S + DAY_S)
    assert collect(tmp_path, [("nlp", manifest.id)]) == 0
    age(store, KEPT_S - DAY_S)
    assert collect(tmp_path, []) == 0
    age(store, 2 * DAY_S)
    assert collect(tmp_path, []) == 3
    assert files(tmp_path) == 0


def test_a_job_of_another_team_keeps_nothing(tmp_path: Path) -> None:
    store = team_store(tmp_path, "nlp")
    manifest = a_bundle(store, b"one")
    age(store, KEPT_S + DAY_S)
    assert collect(tmp_path, [("vision", manifest.id)]) == 2


def test_blocks_that_other_bundles_need_stay_and_single_ones_go_after_a_day(tmp_path: Path) -> None:
    store = team_store(tmp_path, "nlp")
    a_bundle(store, b"shared", b"old")
    age(store, KEPT_S + DAY_S)
    newer = a_bundle(store, b"shared", b"new")
    store.put_block(b"being sent")
    assert collect(tmp_path, []) == 2
    assert store.missing(newer) == []
    age(store, UNUSED_S + 1)
    assert collect(tmp_path, []) == 1
    assert store.missing(newer) == []


def test_nothing_is_removed_where_it_is_not_known_what_is_needed(tmp_path: Path) -> None:
    store = team_store(tmp_path, "nlp")
    manifest = a_bundle(store, b"one")
    age(store, 2 * UNUSED_S)
    unread = store.manifests / ("0" * 64)
    unread.symlink_to(tmp_path)
    assert collect(tmp_path, []) == 0
    assert store.missing(manifest) == []
