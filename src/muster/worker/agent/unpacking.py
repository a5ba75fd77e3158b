"""What the agent's file does when it is run: it unpacks itself, and runs the agent from there."""

import hashlib
import os
import sys
import zipfile
from itertools import pairwise
from pathlib import Path

from muster.model.errors import MusterError
from muster.private_files import claim_folder
from muster.worker.launch.runtime_folder import remove

CODE = "code"
"""The folder of the agent's home with its code."""


def main() -> int:
    """Unpack, and become the agent. It returns only when that fails."""
    home = _home(sys.argv[1:])
    try:
        claim_folder(home)
        folder = unpacked(Path(sys.argv[0]), home)
    except (MusterError, OSError, ValueError) as error:
        sys.stderr.write(f"the agent cannot be unpacked into {home}: {error}\n")
        return 1
    begin = f"import sys; sys.path.insert(0, {str(folder)!r}); from muster.worker.agent.__main__ import main"
    words = [sys.executable, "-P", "-c", f"{begin}; sys.exit(main(sys.argv[1:]))", *sys.argv[1:]]
    return os.execv(sys.executable, words)


def unpacked(file: Path, home: Path) -> Path:
    """The folder with the code, which is named by what is in it. An older one stays while its processes live."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    folder = home / CODE / digest
    if not folder.is_dir():
        new = folder.with_name(f"{digest}.{os.getpid()}")
        remove(new)
        new.mkdir(parents=True, mode=0o700)
        with zipfile.ZipFile(file) as archive:
            archive.extractall(new)
        new.replace(folder)
    return folder


def _home(words: list[str]) -> Path:
    """The agent's home, which must be known before its options are read properly."""
    named = next((after for before, after in pairwise(words) if before == "--home"), "")
    joined = next((word.removeprefix("--home=") for word in words if word.startswith("--home=")), "")
    return Path(named or joined or DEFAULT_HOME).expanduser().resolve()


DEFAULT_HOME = "~/.muster-agent"
"""Where an agent keeps its files unless it is told another place."""
