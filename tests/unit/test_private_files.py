import logging
import os
import stat
from pathlib import Path

import pytest

from muster import main
from muster.live.address_file import announced
from muster.live.logging import log_to
from muster.model.errors import InvalidInput, Refused
from muster.private_files import claim_folder, open_private, write_private


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_private_file_is_written_over_a_link_and_not_through_it(tmp_path: Path) -> None:
    victim, path = tmp_path / "victim", tmp_path / "server.json"
    victim.write_text("mine")
    for link in (path, path.with_suffix(".new"), path.with_name(f".{path.name}.{os.getpid()}")):
        link.symlink_to(victim)
    write_private(path, "secret")
    assert (victim.read_text(), path.read_text(), path.is_symlink()) == ("mine", "secret", False)
    assert mode_of(path) == 0o600


def test_a_server_is_announced_in_a_file_of_its_own_whatever_lay_there(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "server.json").symlink_to(victim)
    (tmp_path / "server.new").symlink_to(victim)
    with announced(tmp_path / "server.json", "http://127.0.0.1:1"):
        assert mode_of(tmp_path / "server.json") == 0o600
    assert victim.read_text() == "mine"


def test_what_could_not_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"):
        write_private(tmp_path / "taken", "secret")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_an_open_file_becomes_private(tmp_path: Path) -> None:
    path = tmp_path / "server.out"
    path.write_text("old")
    path.chmod(0o644)
    os.close(open_private(path, os.O_APPEND))
    assert (mode_of(path), path.read_text()) == (0o600, "old")


def test_a_log_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.touch()
    path.chmod(0o644)
    handler = log_to(path, level=logging.getLogger().level)
    logging.getLogger().removeHandler(handler)
    handler.close()
    assert mode_of(path) == 0o600


def test_a_home_that_others_could_enter_is_closed_to_them(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    home.chmod(0o755)
    assert main._home(str(home)) == home
    assert mode_of(home) == 0o700


def test_a_home_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: home.stat().st_uid + 1)
    with pytest.raises(Refused, match="belongs to user"):
        main._home(str(home))
    assert mode_of(home) == 0o755


def test_a_file_is_no_home(tmp_path: Path) -> None:
    (tmp_path / "home").touch()
    with pytest.raises(InvalidInput, match="cannot be Muster's home"):
        claim_folder(tmp_path / "home")
