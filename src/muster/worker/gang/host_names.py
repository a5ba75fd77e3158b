"""Names of virtual nodes that resolve, for programs that connect to the first name of `SLURM_JOB_NODELIST`.

The nodes are this machine, and no name service knows them. So a worker sees a file of hosts of its own, in which they
are an address of this machine. Where the kernel does not allow that, names stay unknown, and all else works.
"""

import contextlib
import ctypes
import os
import tempfile
from collections.abc import Sequence

HOSTS = "/etc/hosts"
ADDRESS = "127.0.0.1"

_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_BIND, _REC, _SLAVE = 0x1000, 0x4000, 0x80000


def make_known(names: Sequence[str]) -> None:
    """Let this process and all that it starts resolve these names, if it may."""
    missing = [name for name in names if name]
    if not missing or not _is_allowed(missing):
        return
    with contextlib.suppress(OSError):
        _enter(missing)


def _is_allowed(names: Sequence[str]) -> bool:
    """Try it in a process of its own. One that fails half-way would be left in a place that it cannot leave."""
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(BaseException):
            _enter(names)
            code = 0
        os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def _enter(names: Sequence[str]) -> None:
    with open(HOSTS) as file:
        text = file.read()
    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    _call(libc.unshare, _NEW_MOUNTS if user == 0 else _NEW_MOUNTS | _NEW_USER)
    if user != 0:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    # What is mounted outside later is seen inside too, and nothing that is mounted inside is seen outside.
    _call(libc.mount, None, b"/", None, _REC | _SLAVE, None)
    with tempfile.NamedTemporaryFile("w") as own:
        own.write(f"{text.rstrip()}\n{''.join(f'{ADDRESS} {name}' + chr(10) for name in names)}")
        own.flush()
        os.chmod(own.name, 0o644)
        _call(libc.mount, own.name.encode(), HOSTS.encode(), None, _BIND, None)


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _call(function: "ctypes._NamedFuncPointer", *arguments: object) -> None:
    if function(*arguments) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
