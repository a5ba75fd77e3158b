"""The folder of files that workers and Muster share: notices, requests to save, host files, scripts, exit records.

It is outside of the home, which holds the token and the database. So the paths that a job is given do not show where
the home is. The name is derived from the home alone and not from the environment, so that a successor finds what was
left. The parent folder is open to every user, so another user may have taken the name. Then it is refused.
"""

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from muster.locks import MOMENT_S, has_locked
from muster.model.errors import Refused

PARENT = Path("/tmp")

SCRATCH = "MUSTER_SCRATCH"
"""The variable of a supervisor that names another place for hot checkpoints, such as a fast local disk."""

SCRATCH_PARENT = Path("/var/tmp")
"""Where they are otherwise: on a disk, which `/tmp` need not be, and kept over a restart of the machine."""

HOT = "MUSTER_HOT_FOLDER"
"""The variable of a supervisor in an allocation that names the folder for hot checkpoints itself. Its home goes with
the allocation, and the next one on the node is to find them, and to remove those that are not kept any more."""

DRAFT = ".new-"
"""What stands between the name of a folder and a random end while it is being made."""

_MODE = 0o700

EXIT_RECORD = "exit-"
"""How the name of an exit record begins; the exit code follows. The first process of a worker makes this empty file
when its program has ended. The file is there or not, and never half there."""

_CODES = range(256)


def runtime_folder(home: Path) -> Path:
    """The runtime folder of a home. It is the same for as long as the machine is up, also if the home is moved."""
    return PARENT / _own_name(home)


def hot_folder(home: Path, variables: Mapping[str, str]) -> Path:
    """The folder with the hot tiers of all nodes of a home, given the variables of a supervisor."""
    if variables.get(HOT):
        return Path(variables[HOT])
    return scratch_folder(home, variables) / "hot"


def scratch_folder(home: Path, variables: Mapping[str, str]) -> Path:
    """The folder of a home for large files: hot checkpoints and working copies."""
    return Path(variables.get(SCRATCH) or SCRATCH_PARENT) / _own_name(home)


def scratch_problem(variables: Mapping[str, str]) -> str:
    """What is wrong with the place that is named for large files; nothing when it can be used, or none is named.

    It is not made: what is missing is often a disk that is not mounted, and its folder would fill another one.
    """
    named = variables.get(SCRATCH)
    if not named or variables.get(HOT):
        return ""
    if not os.path.isabs(named):
        return f"{SCRATCH} names {named!r}, which is no absolute path"
    if not os.path.isdir(named):
        return f"{SCRATCH} names {named}, and there is no such folder: make it, or mount the disk"
    if not os.access(named, os.W_OK | os.X_OK):
        return f"{SCRATCH} names {named}, which this user cannot write to"
    return ""


def _own_name(home: Path) -> str:
    found = home.stat()
    return f"muster-{os.geteuid()}-{found.st_dev:x}-{found.st_ino:x}"


def claim(folder: Path) -> None:
    """Make the folder, or take it if this user owns it, and close it to other users. Links are not followed."""
    with suppress(FileExistsError):
        folder.mkdir(mode=_MODE)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise Refused(
            f"{folder} was made by user {found.st_uid} and not by Muster: remove it, or have an administrator do so, "
            "because whoever owns it could read and change what jobs of this server are told"
        )
    if stat.S_IMODE(found.st_mode) != _MODE:
        folder.chmod(_MODE)


def claim_hot(home: Path, node: str, variables: Mapping[str, str]) -> None:
    """Make a node's hot tier, or take it if this user has made it. Raises `Refused` if it cannot be used."""
    if problem := scratch_problem(variables):
        raise Refused(problem)
    hot = hot_folder(home, variables)
    for folder in (hot.parent, hot, hot / node):
        claim(folder)


def keep_from_cleaners(folder: Path) -> bool:
    """Lock the folder for as long as this process lives. Programs that clean up old files leave a locked folder alone.

    False when another process has locked it for longer than `MOMENT_S`: the lock is not waited for without end.
    """
    return has_locked(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), MOMENT_S, shared=True)


def remove(folder: Path) -> None:
    """Remove a folder with everything in it, as far as possible. Of a link, only the link is removed."""
    with suppress(OSError):
        if folder.is_symlink():
            folder.unlink()
            return
        for name in os.listdir(folder):
            os.unlink(folder / name)
        folder.rmdir()
        return
    if folder.is_dir():
        from shutil import rmtree  # noqa: PLC0415 (only for what a job itself has put there)

        rmtree(folder, ignore_errors=True)


def remove_all(folder: Path) -> None:
    """Remove what was made for any worker of a node. Call it when no worker is left."""
    with suppress(OSError):
        for name in os.listdir(folder):
            remove(folder / name)


def give_back(folder: Path) -> None:
    """Remove the folder of a node, and that of its home if no other node has a folder there.

    What is beside the folders of nodes has a name that begins with a dot, and goes with the last of them.
    """
    with suppress(OSError):
        folder.rmdir()
        names = os.listdir(folder.parent)
        if all(name.startswith(".") for name in names):
            for name in names:
                remove(folder.parent / name)
            folder.parent.rmdir()


def give_back_if_empty(*folders: Path) -> None:
    """Remove these folders, innermost first, as far as nothing is in them."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def exit_record(folder: Path) -> int | None:
    """The exit code in the exit record of a worker; None while its program runs, or when it could not finish."""
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    codes = [name.removeprefix(EXIT_RECORD) for name in names if name.startswith(EXIT_RECORD)]
    if len(codes) != 1 or not codes[0].isdecimal() or int(codes[0]) not in _CODES:
        return None
    return int(codes[0])
