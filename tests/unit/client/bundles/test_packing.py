"""From a folder to a bundle and to the server: named by content, bounded, and only what is missing is sent."""

from pathlib import Path
from typing import Any

import pytest

from muster.client.bundles import origin, packing
from muster.client.bundles.packing import PackedFolder, pack
from muster.client.bundles.uploading import upload
from muster.client.bundles.workdirs import packed_workdir, with_bundle
from muster.client.transport import Transport
from muster.model.errors import InvalidInput, TooLarge
from muster.worker.bundles.manifest import BLOCK_BYTES, digest, parse_manifest
from muster.worker.bundles.store import split_blocks, team_store
from muster.worker.bundles.unpacking import unpack
from tests.unit.client.bundles.checkouts import checkout, git, write


class Server(Transport):
    """Stores what it is sent, as the real one does."""

    def __init__(self, root: Path) -> None:
        self.store = team_store(root, "nlp")
        self.sent: list[int] = []
        """How many blocks came in each request."""
        self.teams: set[object] = set()

    def json(self, method: str, path: str, **details: Any) -> Any:
        assert method == "POST"
        self.teams.add(details["query"]["team"])
        if path == "/v1/bundles":
            manifest = parse_manifest(details["content"])
            if not (missing := self.store.missing(manifest)):
                self.store.put_manifest(manifest)
            return {"id": manifest.id, "missing": missing}
        blocks = split_blocks(details["content"])
        self.sent.append(len(blocks))
        return {"stored": len([self.store.put_block(each) for each in blocks])}


def test_what_was_packed_arrives_whole_and_is_sent_once(tmp_path: Path) -> None:
    folder, server = tmp_path / "code", Server(tmp_path / "server")
    large = b"x" * (2 * BLOCK_BYTES) + b"end"
    write(folder, a__one="1", a__same="1", empty="")
    (folder / "large").write_bytes(large)
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "data").symlink_to("/data")
    packed = pack(folder)
    upload(server, packed, "nlp")
    assert server.sent == [1, 1, 2], "a block of full length by itself; the same content once"
    upload(server, pack(folder), "nlp")
    assert server.sent == [1, 1, 2]
    (folder / "a/one").write_text("2")
    upload(server, pack(folder), "nlp")
    assert (server.sent, server.teams) == ([1, 1, 2, 1], {"nlp"})
    unpack(server.store, packed.manifest, tmp_path / "copy")
    assert (tmp_path / "copy/large").read_bytes() == large
    assert (tmp_path / "copy/run.sh").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "copy/data").readlink() == Path("/data")


def test_equal_folders_have_equal_names_wherever_and_whenever_they_are(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, b="2", a__x="1")
    assert pack(tmp_path / "one").bundle == pack(tmp_path / "two").bundle
    (tmp_path / "two/b").chmod(0o755)
    assert pack(tmp_path / "one").bundle.id != pack(tmp_path / "two").bundle.id


def test_commit_branch_and_difference_are_recorded(tmp_path: Path) -> None:
    commit = checkout(tmp_path, train="one\n", dot_env="SECRET=one\n", big="x\n", dot_musterignore="big\n")
    clean = pack(tmp_path)
    assert (clean.bundle.commit, clean.bundle.dirty, clean.diff) == (commit, False, b"")
    assert clean.manifest.origin.branch == "main"
    write(tmp_path, train="two\n", dot_env="SECRET=two\n", big="y\n")
    changed = pack(tmp_path)
    assert changed.bundle.dirty
    assert b"-one\n+two" in changed.diff
    assert b"SECRET" not in changed.diff
    assert b"big" not in changed.diff
    git(tmp_path, "checkout", "-q", "--", ".")
    write(tmp_path, new="1")
    new = pack(tmp_path)
    assert (new.bundle.dirty, new.diff) == (True, b"")


def test_a_repository_without_a_commit_and_no_repository_have_no_origin(tmp_path: Path) -> None:
    write(tmp_path, a="1")
    assert pack(tmp_path).bundle.commit == ""
    git(tmp_path, "init", "-q")
    assert (pack(tmp_path).bundle.commit, pack(tmp_path).bundle.dirty) == ("", False)


def test_a_folder_that_its_checkout_ignores_is_not_said_to_come_from_there(tmp_path: Path) -> None:
    checkout(tmp_path, dot_gitignore="work\n")
    write(tmp_path, work__train="1")
    assert pack(tmp_path / "work").bundle.commit == ""


def test_a_bundle_without_files_is_told(tmp_path: Path) -> None:
    write(tmp_path, dot_env="1")
    assert pack(tmp_path).notes == (f"nothing is copied: {tmp_path} has no files but those that are left out",)


def test_of_a_long_difference_only_the_beginning_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origin, "DIFF_BYTES", 100)
    checkout(tmp_path, train="one\n")
    write(tmp_path, train="two\n" * 1000)
    packed = pack(tmp_path)
    assert (len(packed.diff), packed.manifest.origin.diff_cut) == (100, True)


def test_a_folder_that_is_too_large_is_refused_with_its_largest_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, train="1" * 10, data__a="1" * 3000, data__b="1" * 2000, logs__x="1")
    monkeypatch.setattr(packing, "BYTES_MOST", 4096)
    with pytest.raises(TooLarge, match=r"4.89 KiB in 4 files.* The largest: data/ \(4.88 KiB in 2 files\), train"):
        pack(tmp_path)
    monkeypatch.setattr(packing, "BYTES_MOST", 1 << 30)
    monkeypatch.setattr(packing, "BUNDLE_FILES", 3)
    with pytest.raises(TooLarge, match=r"in 3 files are copied.* data/ .*\.gitignore, or in \.musterignore"):
        pack(tmp_path)


def test_a_file_that_changes_while_it_is_sent_is_noticed(tmp_path: Path) -> None:
    write(tmp_path / "code", a="1")
    packed = pack(tmp_path / "code")
    write(tmp_path / "code", a="2")
    with pytest.raises(InvalidInput, match="a was changed while it was submitted; submit the job again"):
        upload(Server(tmp_path / "server"), packed, None)
    (tmp_path / "code/a").unlink()
    with pytest.raises(InvalidInput, match="was changed"):
        list(packed.contents([digest(b"1")]))


def test_a_server_gets_no_other_files_than_those_of_the_bundle(tmp_path: Path) -> None:
    write(tmp_path, a="1", dot_env="SECRET")
    with pytest.raises(InvalidInput, match="not part of the bundle"):
        list(pack(tmp_path).contents([digest(b"SECRET")]))


def test_a_server_that_never_has_enough_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "code", a="1")
    server = Server(tmp_path / "server")
    monkeypatch.setattr(server.store, "missing", lambda manifest: list(manifest.blocks()))
    with pytest.raises(InvalidInput, match="could not be stored"):
        upload(server, pack(tmp_path / "code"), None)


def test_secrets_that_are_left_out_are_told(tmp_path: Path) -> None:
    write(tmp_path, a="1", dot_env="1")
    assert pack(tmp_path).notes == (
        "left out, because they may hold secrets: .env (`!NAME` in .musterignore takes a file along)",
    )


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, a="1")

    def refuse(_: Path) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(packing, "_contents", refuse)
    with pytest.raises(InvalidInput, match=r"a cannot be read: Permission denied; make it readable, or leave it out"):
        pack(tmp_path)


@pytest.mark.parametrize("workdir", ["", "/data", "~/code", None])
def test_nothing_is_packed_for_a_workdir_that_is_not_relative(tmp_path: Path, workdir: str | None) -> None:
    assert packed_workdir({"workdir": workdir}, tmp_path) is None


def test_a_relative_workdir_is_beside_the_job_file(tmp_path: Path) -> None:
    write(tmp_path, code__a="1", jobs__train="1")
    found = packed_workdir({"workdir": "../code"}, tmp_path / "jobs")
    assert isinstance(found, PackedFolder)
    assert [each.path for each in found.manifest.entries] == ["a"]
    assert with_bundle({"name": "x"}, found)["bundle"] == {"id": found.bundle.id, "files": 1, "size": 1}
    assert packed_workdir({"workdir": "../code", "bundle": {"id": "0" * 64}}, tmp_path / "jobs") is None
    with pytest.raises(InvalidInput, match=r"there is no folder .*nowhere"):
        packed_workdir({"workdir": "nowhere"}, tmp_path)
