"""One training saves to a folder at a time. Two that write the same steps would mix their files.

Inside Muster a path belongs to a run, and attempts of a run never overlap. Outside nobody else looks after that.
"""

import fcntl
import os

from muster.train.errors import UnwritableCheckpoint

_claimed: dict[str, tuple[int, int]] = {}
"""The process that claimed a path, and its open file. It may open a training again without having closed the first."""


def claim(root: str, rank: int) -> None:
    """Claim a folder for this rank until the process ends. Raises when another process that lives has it.

    The lock is one of the process. Those that it forks, such as the ones that load data, do not have it: they may live
    on for seconds when the process is killed, and a training that is started again must not wait for them.
    """
    path = os.path.join(root, f".rank-{rank:05d}.lock")
    if path in _claimed and _claimed[path][0] == os.getpid():
        return
    os.makedirs(root, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        os.close(file)
        raise UnwritableCheckpoint(
            f"another process saves to {root} as rank {rank}: give each training a path of its own, or end the other"
        ) from None
    except OSError:  # a file system without locks: then nobody is asked
        pass
    _claimed[path] = os.getpid(), file
