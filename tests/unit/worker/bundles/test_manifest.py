"""Manifests: what is written is read again, and what could do harm is refused."""

import json
from typing import Any

import pytest

from muster.model.client_limits import BUNDLE_FILES
from muster.worker.bundles.manifest import (
    BLOCK_BYTES,
    BYTES_MOST,
    BadManifest,
    BundleEntry,
    BundleManifest,
    Origin,
    digest,
    parse_manifest,
)

BLOCK = digest(b"x")


def a_file(path: str, **fields: Any) -> dict[str, Any]:
    return {"path": path, "mode": 0o644, "size": 1, "blocks": [BLOCK], **fields}


def written(*entries: object, **origin: object) -> bytes:
    return json.dumps({"version": 1, "entries": entries, "origin": origin}).encode()


def test_what_is_written_is_read_again_and_has_the_same_name() -> None:
    manifest = BundleManifest(
        entries=(
            BundleEntry(path="a/empty", mode=0o600),
            BundleEntry(path="a/run.sh", mode=0o755, size=BLOCK_BYTES + 1, blocks=(BLOCK, digest(b"y"))),
            BundleEntry(path="caf\udce9", mode=0o644, size=1, blocks=(BLOCK,)),
            BundleEntry(path="data", link="/data/imagenet"),
        ),
        origin=Origin(commit="a" * 40, branch="main", dirty=True, diff=(digest(b"d"),), diff_bytes=1),
    )
    again = parse_manifest(manifest.text)
    assert (again, again.id) == (manifest, manifest.id)
    assert manifest.bytes == BLOCK_BYTES + 2
    assert list(manifest.blocks()) == [BLOCK, digest(b"y"), digest(b"d")]


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "../up", "a/../../up", "a//b", "a/", "./a", "a/.", "..", "a\0b", "x" * 2000, "\ud800"],
)
def test_a_path_cannot_leave_the_bundle(path: str) -> None:
    with pytest.raises(BadManifest):
        parse_manifest(written(a_file(path)))


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ([{"path": "a", "link": "/etc"}, a_file("a/passwd")], "below something that is no folder"),
        ([a_file("a"), a_file("a/b/c")], "below something that is no folder"),
        ([a_file("b"), a_file("a")], "twice, or not in order"),
        ([a_file("a"), a_file("a")], "twice, or not in order"),
        ([a_file("a", mode=0o4755)], "the mode 4755"),
        ([a_file("a", size=-1)], "do not fit together"),
        ([a_file("a", size=BLOCK_BYTES + 1)], "do not fit together"),
        ([a_file("a", size=0)], "do not fit together"),
        ([a_file("a", blocks=["../x"])], "not named by a SHA-256"),
        ([a_file("a", owner="root")], "not a file and not a link"),
        ([{"path": "a", "link": ""}], "a link to nothing"),
        (["a"], "not a file and not a link"),
        ([a_file("a", size=BYTES_MOST + 1, blocks=[BLOCK] * (BYTES_MOST // BLOCK_BYTES + 1))], "at most"),
        ([a_file(f"{number:05}") for number in range(BUNDLE_FILES + 1)], f"at most {BUNDLE_FILES} files"),
    ],
)
def test_what_could_do_harm_is_refused_with_the_reason(entries: list[object], problem: str) -> None:
    with pytest.raises(BadManifest, match=problem):
        parse_manifest(written(*entries))


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b"[" * 100_000, b'{"version": 2}', b"\xff"])
def test_what_is_no_manifest_is_refused(text: bytes) -> None:
    with pytest.raises(BadManifest):
        parse_manifest(text)


@pytest.mark.parametrize(
    "origin", [{"commit": "HEAD"}, {"branch": 7}, {"diff": "x"}, {"diff_bytes": 10**9}, {"diff_bytes": 1}]
)
def test_a_false_origin_is_refused(origin: dict[str, object]) -> None:
    with pytest.raises(BadManifest):
        parse_manifest(written(**origin))
