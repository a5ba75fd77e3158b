"""What `muster up` and `muster down` make of the processes they start."""

import sys
from pathlib import Path

import pytest

from muster.cli.server_process import run_down, start_detached
from muster.model.errors import InvalidInput, MusterError, Refused, TimedOut, Unavailable


@pytest.mark.parametrize(("code", "error"), [(6, TimedOut), (1, Unavailable)])
def test_what_could_not_be_ended_is_told_with_its_exit_code(code: int, error: type[MusterError]) -> None:
    program = f"import sys; sys.stderr.write('muster: n1 goes on\\n'); sys.exit({code})"
    with pytest.raises(error, match="not all jobs could be ended: n1 goes on"):
        run_down([sys.executable, "-c", program])


@pytest.mark.parametrize(("code", "error"), [(2, InvalidInput), (3, Refused), (6, TimedOut), (1, Unavailable)])
def test_a_server_that_ends_at_once_passes_its_exit_code_on(
    tmp_path: Path, code: int, error: type[MusterError]
) -> None:
    program = f"import sys; sys.stderr.write('muster: wrong\\n'); sys.exit({code})"
    with pytest.raises(error, match=rf"exit code {code}; its last words, from .*:\n  muster: wrong") as caught:
        start_detached([sys.executable, "-c", program], tmp_path)
    assert caught.type is error
