"""Programs that know Slurm, beside a server: the commands of Slurm are on their path."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.conftest import Shell


@dataclass(frozen=True, kw_only=True)
class SlurmShell:
    """A user who knows Slurm."""

    shell: Shell
    programs: Path

    def run(self, *words: str, timeout_s: float = 300.0) -> subprocess.CompletedProcess[str]:
        """Run a program to its end, in the folder of the shell."""
        environment = {**self.shell.environment, "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}"}
        return subprocess.run(
            words,
            env=environment,
            cwd=self.shell.folder,
            text=True,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )

    def says(self, *words: str) -> str:
        """What a program prints when it works."""
        done = self.run(*words)
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout

    def python(self, text: str, *arguments: str) -> str:
        """What a Python program prints when it works."""
        file = self.shell.folder / "program.py"
        file.write_text(text, "utf-8")
        return self.says(sys.executable, str(file), *arguments)


def slurm_shell(shell: Shell) -> SlurmShell:
    """The user of a server that is up."""
    programs = shell.home / "slurm-bin"
    shell.says("slurm", "install", str(programs))
    return SlurmShell(shell=shell, programs=programs)
