"""Which files are copied with a job."""

import os
from pathlib import Path

import pytest

from muster.client.bundles import listing
from muster.client.bundles.listing import SECRET_FILES, list_files
from muster.model.errors import InvalidInput
from tests.unit.client.bundles.checkouts import checkout, git, write


def paths(folder: Path) -> list[str]:
    return list(list_files(folder).paths)


def test_in_a_checkout_it_is_what_git_knows_and_would_take(tmp_path: Path) -> None:
    checkout(tmp_path, train_py="1", gone_py="1", dot_gitignore="data/\n*.ckpt\n", kept_ckpt="1")
    (tmp_path / "tracked.ckpt").write_text("tracked")
    git(tmp_path, "add", "-f", "tracked.ckpt")
    write(tmp_path, data__big="1", new_py="1")
    (tmp_path / "model.ckpt").write_text("1")
    (tmp_path / "gone_py").unlink()
    assert paths(tmp_path) == [".gitignore", "kept_ckpt", "new_py", "tracked.ckpt", "train_py"]


def test_of_a_folder_in_a_checkout_it_is_what_is_below_it(tmp_path: Path) -> None:
    checkout(tmp_path, top="1", sub__a="1", dot_gitignore="ignored\n")
    write(tmp_path, sub__ignored="1", sub__b="1")
    assert paths(tmp_path / "sub") == ["a", "b"]


def test_a_folder_that_its_checkout_ignores_is_copied_as_if_there_were_none(tmp_path: Path) -> None:
    checkout(tmp_path, dot_gitignore="*\n")
    write(tmp_path, work__train="1", work__dot_gitignore="data\n", work__data="1")
    found = list_files(tmp_path / "work")
    assert (found.paths, found.is_in_git) == ((".gitignore", "train"), False)


def test_checkouts_inside_of_a_checkout_are_copied_too(tmp_path: Path) -> None:
    checkout(tmp_path / "outer" / "inner", a="1", dot_gitignore="b\n")
    write(tmp_path / "outer" / "inner", b="1")
    checkout(tmp_path / "outer", top="1")
    assert paths(tmp_path / "outer") == ["inner/.gitignore", "inner/a", "top"]


def test_elsewhere_it_is_everything_but_what_gitignore_files_say(tmp_path: Path) -> None:
    write(tmp_path, dot_gitignore="*.log\n/build/\nnode_modules/\n", train_py="1", build__x="1", sub__build__x="1")
    write(tmp_path, sub__node_modules__x="1", sub__dot_gitignore="!kept.log\nonly\n", sub__only="1", only="1")
    for name in ("a.log", "sub/b.log", "sub/kept.log"):
        (tmp_path / name).write_text("1")
    assert paths(tmp_path) == [".gitignore", "only", "sub/.gitignore", "sub/build/x", "sub/kept.log", "train_py"]


def test_links_are_listed_and_not_followed_and_pipes_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, outside__secret="1", code__a="1")
    (tmp_path / "code/folder").symlink_to(tmp_path / "outside")
    (tmp_path / "code/nowhere").symlink_to("nothing")
    os.mkfifo(tmp_path / "code/pipe")
    assert paths(tmp_path / "code") == ["a", "folder", "nowhere"]
    checkout(tmp_path / "code")
    assert paths(tmp_path / "code") == ["a", "folder", "nowhere"]


def test_files_that_may_hold_secrets_are_left_out_and_named_also_when_git_has_them(tmp_path: Path) -> None:
    checkout(tmp_path, dot_env="1", dot_netrc="1", sub__id_rsa="1", train="1")
    for name in (".env.local", ".env.example"):
        (tmp_path / name).write_text("1")
    found = list_files(tmp_path)
    assert found.paths == (".env.example", "train")
    assert found.secrets == (".env", ".env.local", ".netrc", "sub/id_rsa")
    assert ".env" in SECRET_FILES


def test_the_own_ignore_file_leaves_out_what_git_knows_and_takes_secrets_along(tmp_path: Path) -> None:
    checkout(tmp_path, dot_env="1", data__big="1", train="1", dot_musterignore="data/\n!.env\n")
    found = list_files(tmp_path)
    assert found.paths == (".env", ".musterignore", "train")
    assert (found.secrets, found.left_out) == ((), ("data/big",))


def test_compiled_python_and_the_repository_itself_are_never_copied(tmp_path: Path) -> None:
    write(tmp_path, a_py="1")
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__/a.pyc").write_text("1")
    (tmp_path / "sub/.git").mkdir(parents=True)
    (tmp_path / "sub/.git/config").write_text("1")
    assert paths(tmp_path) == ["a_py"]


def test_it_works_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout(tmp_path / "code", dot_gitignore="b\n", a="1")
    write(tmp_path / "code", b="1")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert paths(tmp_path / "code") == [".gitignore", "a"]


def test_a_folder_that_cannot_be_code_is_refused_before_all_of_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "LOOKED_AT_MOST", 3)
    write(tmp_path, **dict.fromkeys("abcd", "1"))
    with pytest.raises(InvalidInput, match="more than 3 files, which is no code"):
        list_files(tmp_path)
