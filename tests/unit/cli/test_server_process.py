"""What `muster up` and `muster down` make of the processes they start."""

import sys

import pytest

from muster.cli.server_process import run_down
from muster.model.errors import MusterError, TimedOut, Unavailable


@pytest.mark.parametrize(("code", "error"), [(6, TimedOut), (1, Unavailable)])
def test_what_could_not_be_ended_is_told_with_its_exit_code(code: int, error: type[MusterError]) -> None:
    program = f"import sys; sys.stderr.write('muster: n1 goes on\\n'); sys.exit({code})"
    with pytest.raises(error, match="not all jobs could be ended: n1 goes on"):
        run_down([sys.executable, "-c", program])
