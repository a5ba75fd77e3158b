"""What `muster up` and `muster down` make of the processes they start."""

import sys
from pathlib import Path

import pytest

from muster.cli.server_process import run_down, start_detached
from muster.model.errors import MusterError, TimedOut, Unavailable


@pytest.mark.parametrize(("code", "error"), [(6, TimedOut), (1, Unavailable)])
def test_what_could_not_be_ended_is_told_with_its_exit_code(code: int, error: type[MusterError]) -> None:
    program = f"import sys; sys.stderr.write('muster: n1 goes on\\n'); sys.exit({code})"
    with pytest.raises(error, match="not all jobs could be ended: n1 goes on"):
        run_down([sys.executable, "-c", program])


def test_what_a_server_prints_and_logs_is_private_and_told_when_it_ends_at_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    log, output = home / "server.log", home / "server.out"
    log.write_text("an older line\n")
    output.write_text("an older word\n")
    output.chmod(0o644)
    program = f"print('printed'); open({str(log)!r}, 'a').write('logged\\n'); raise SystemExit(3)"
    with pytest.raises(Unavailable, match=r"(?s)exit code 3.*server\.out.*printed.*server\.log.*logged") as failure:
        start_detached([sys.executable, "-c", program], home)
    assert "older" not in str(failure.value)
    assert output.stat().st_mode & 0o777 == 0o600
