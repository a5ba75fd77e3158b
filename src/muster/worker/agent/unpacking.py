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
    home = _path(sys.argv[1:], "--home", DEFAULT_HOME)
    code = _path(sys.argv[1:], "--code", str(home / CODE))
    try:
        claim_folder(home)
        claim_folder(code)
        folder = unpacked(Path(sys.argv[0]), code)
    except (MusterError, OSError, ValueError) as error:
        sys.stderr.write(f"the agent cannot be unpacked into {code}: {error}\n")
        return 1
    begin = f"import sys; sys.path.insert(0, {str(folder)!r}); from muster.worker.agent.__main__ import main"
    flags = [flag for flag, is_set in (("-S", sys.flags.no_site), ("-E", sys.flags.ignore_environment)) if is_set]
    words = [sys.executable, *flags, "-P", "-c", f"{begin}; sys.exit(main(sys.argv[1:]))", *sys.argv[1:]]
    return os.execv(sys.executable, words)


def unpacked(file: Path, code: Path) -> Path:
    """The folder with the code, which is named by what is in it. An older one stays while its processes live."""
    folder = code / code_name(file.read_bytes())
    if not folder.is_dir():
        new = folder.with_name(f"{folder.name}.{os.getpid()}")
        remove(new)
        new.mkdir(parents=True, mode=0o700)
        with zipfile.ZipFile(file) as archive:
            archive.extractall(new)
        try:
            new.replace(folder)
        except OSError:
            remove(new)  # another agent was faster
            if not folder.is_dir():
                raise
    return folder


def code_name(agent: bytes) -> str:
    """The name of the folder with what is in an agent's file."""
    return hashlib.sha256(agent).hexdigest()[:16]


def _path(words: list[str], option: str, default: str) -> Path:
    """A folder of the agent, which must be known before its options are read properly."""
    named = next((after for before, after in pairwise(words) if before == option), "")
    joined = next((word.removeprefix(f"{option}=") for word in words if word.startswith(f"{option}=")), "")
    return Path(named or joined or default).expanduser().resolve()


DEFAULT_HOME = "~/.muster-agent"
"""Where an agent keeps its files unless it is told another place."""
