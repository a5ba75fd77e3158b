"""Unpacking: a copy is whole or not there, and writing to it changes nothing that is stored."""

import os
import subprocess
from pathlib import Path

import pytest

from muster.worker.bundles.manifest import BLOCK_BYTES, BundleEntry, BundleManifest, digest
from muster.worker.bundles.store import BundleStore, team_store
from muster.worker.bundles.unpacking import FAILED, UNPACKED_S, unpack, unpack_command

LARGE = b"x" * BLOCK_BYTES + b"y"


@pytest.fixture
def store(tmp_path: Path) -> BundleStore:
    return team_store(tmp_path / "bundles", "nlp")


def a_bundle(store: BundleStore) -> BundleManifest:
    for data in (b"print()\n", LARGE[:BLOCK_BYTES], LARGE[BLOCK_BYTES:]):
        store.put_block(data)
    manifest = BundleManifest(
        entries=(
            BundleEntry(path="empty", mode=0o600),
            BundleEntry(path="latest", link="pkg/main.py"),
            BundleEntry(
                path="pkg/deep/large", mode=0o444, size=len(LARGE), blocks=(digest(b"x" * BLOCK_BYTES), digest(b"y"))
            ),
            BundleEntry(path="pkg/main.py", mode=0o755, size=8, blocks=(digest(b"print()\n"),)),
        )
    )
    store.put_manifest(manifest)
    return manifest


def run(store: BundleStore, bundle: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = unpack_command(store.folder, bundle, folder, folder.with_name("stamp"))
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_files_links_and_modes_are_those_of_the_bundle(store: BundleStore, tmp_path: Path) -> None:
    unpack(store, a_bundle(store), tmp_path / "copy")
    copy = tmp_path / "copy"
    assert (copy / "pkg/deep/large").read_bytes() == LARGE
    assert (copy / "latest").read_bytes() == b"print()\n"
    assert os.readlink(copy / "latest") == "pkg/main.py"
    assert [(copy / name).stat().st_mode & 0o777 for name in ("empty", "pkg/deep/large", "pkg/main.py")] == [
        0o600,
        0o444,
        0o755,
    ]
    times = {each.lstat().st_mtime for each in (copy, *copy.rglob("*"))}
    assert times == {UNPACKED_S}
    assert not list(tmp_path.glob("copy.*"))


def test_writing_to_a_copy_does_not_change_what_is_stored(store: BundleStore, tmp_path: Path) -> None:
    manifest = a_bundle(store)
    unpack(store, manifest, tmp_path / "copy")
    (tmp_path / "copy/pkg/main.py").write_text("changed")
    unpack(store, manifest, tmp_path / "next")
    assert (tmp_path / "next/pkg/main.py").read_text() == "print()\n"


def test_a_copy_that_another_worker_has_made_is_left_alone(store: BundleStore, tmp_path: Path) -> None:
    manifest = a_bundle(store)
    unpack(store, manifest, tmp_path / "copy")
    (tmp_path / "copy/pkg/main.py").write_text("changed")
    unpack(store, manifest, tmp_path / "copy")
    assert (tmp_path / "copy/pkg/main.py").read_text() == "changed"


def test_the_program_needs_no_packages_and_leaves_a_stamp(store: BundleStore, tmp_path: Path) -> None:
    done = run(store, a_bundle(store).id, tmp_path / "copy")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "stamp").stat().st_mtime == UNPACKED_S + 1
    newer = subprocess.run(["find", tmp_path / "copy", "-newer", tmp_path / "stamp"], capture_output=True, check=True)
    assert newer.stdout == b""


def test_it_says_what_is_wrong_and_leaves_nothing(store: BundleStore, tmp_path: Path) -> None:
    gone = run(store, "0" * 64, tmp_path / "copy")
    assert gone.returncode == FAILED
    assert "the bundle 000000000000 cannot be unpacked on this node: it is not stored any more" in gone.stderr
    manifest = a_bundle(store)
    store.block_path(digest(b"y")).unlink()
    broken = run(store, manifest.id, tmp_path / "copy")
    assert broken.returncode == FAILED
    assert "No such file or directory" in broken.stderr
    assert not [each.name for each in tmp_path.iterdir() if each.name.startswith("copy")]
