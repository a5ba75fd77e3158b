"""Secrets are found in the nearest team, and only in files that no other user may read."""

from pathlib import Path

import pytest

from muster.model.ids import TeamPath
from muster.model.node_limits import SECRET_BYTES
from muster.worker.launch.secret_files import SecretMissing, secrets_of

TEAM = TeamPath("nlp/pretraining")


def put(home: Path, path: str, value: bytes, mode: int = 0o600) -> None:
    file = home / "secrets" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(value)
    file.chmod(mode)


def test_the_nearest_team_above_wins(tmp_path: Path) -> None:
    put(tmp_path, "KEY", b"root\n")
    assert secrets_of(tmp_path, TEAM, ["KEY"]) == {"KEY": "root"}
    put(tmp_path, "nlp/KEY", b"nlp\r\n")
    assert secrets_of(tmp_path, TEAM, ["KEY"]) == {"KEY": "nlp"}
    put(tmp_path, "nlp/pretraining/KEY", b"own\n\n")
    assert secrets_of(tmp_path, TEAM, ["KEY"]) == {"KEY": "own\n"}
    assert secrets_of(tmp_path, TeamPath("vision"), ["KEY"]) == {"KEY": "root"}


@pytest.mark.parametrize(
    ("value", "mode", "problem"),
    [
        (b"x", 0o640, "chmod 600"),
        (b"x", 0o604, "chmod 600"),
        (b"x" * (SECRET_BYTES + 1), 0o600, "longer"),
        (b"a\0b", 0o600, "NUL"),
    ],
)
def test_a_file_that_cannot_be_trusted_or_used_is_refused(
    tmp_path: Path, value: bytes, mode: int, problem: str
) -> None:
    put(tmp_path, "KEY", value, mode)
    with pytest.raises(SecretMissing, match=problem):
        secrets_of(tmp_path, TEAM, ["KEY"])


@pytest.mark.parametrize("name", ["../KEY", "a/b", "", "A-B", "1A", "A\n"])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SecretMissing, match="cannot be the name"):
        secrets_of(tmp_path, TEAM, [name])


def test_a_missing_one_is_named_with_where_to_put_it(tmp_path: Path) -> None:
    with pytest.raises(SecretMissing, match=r"no secret KEY: .* into .*/nlp/pretraining/KEY or .*/secrets/KEY"):
        secrets_of(tmp_path, TEAM, ["KEY"])
    with pytest.raises(SecretMissing, match=r"secrets/etc/KEY"):
        secrets_of(tmp_path, TeamPath("../../etc"), ["KEY"])
