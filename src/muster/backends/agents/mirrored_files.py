"""What workers on other machines print and measure, copied into the home, where it is read as that of this machine is.

An agent says how far a file has grown, and sends what is missing here (`worker/agent/mirror`). An agent is trusted with
the files of jobs that its node has run, and with nothing else.
"""

import os
import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from muster.home import Home
from muster.model.ids import JobId, NodeName
from muster.model.node_limits import LOG_SEGMENT_BYTES, METRICS_BYTES

NOT_NOW = -1
"""The answer for a file that is not taken: its job is not known to have run there, or the disk is full."""

FILE_MOST = 2 * max(LOG_SEGMENT_BYTES, METRICS_BYTES)
"""How large a file may become. Agents begin a new one long before."""

_NAME = re.compile(
    r"([A-Za-z0-9_-][A-Za-z0-9_.-]{0,149})/([0-9]{1,9})/(?:metrics\.jsonl|steps\.jsonl|(?:[0-9]{1,9}|uploader)/(?:[0-9]{16}\.log|complete))"
)


class MirroredFiles:
    """The copies of one home. May be used on any thread, one at a time for each node; calls wait for the disk."""

    def __init__(
        self,
        home: Path,
        has_run: Callable[[NodeName, JobId], bool],
        told: Callable[[NodeName, int], None] = lambda _node, _behind: None,
    ) -> None:
        """`has_run` says whether a job has or had workers on a node; `told` hears how many bytes are missing here."""
        self._logs = Home(home).logs
        self._has_run = has_run
        self._told = told

    def take(self, node: NodeName, message: Mapping[str, object]) -> dict[str, object] | None:
        """Do what an agent says about a file; what to answer, or None for a message that makes no sense."""
        behind = message.get("behind")
        if isinstance(behind, int):
            self._told(node, behind)
            return {"behind": behind}
        name = message.get("file")
        found = _NAME.fullmatch(name) if isinstance(name, str) else None
        if found is None:
            return None
        is_known = self._has_run(node, JobId(found[1]))
        match message:
            case {"gone": True}:
                if is_known:
                    (self._logs / found[0]).unlink(missing_ok=True)
                return None
            case {"at": int(at), "data": str(data)}:
                size = self._keep(self._logs / found[0], at, data) if is_known else NOT_NOW
                return {"kept": name, "size": size}
            case _:
                return None

    def _keep(self, path: Path, at: int, data: str) -> int:
        """Write a piece at its place; how much of the file is there afterwards.

        A piece that does not follow on what is there is not written. The answer tells the agent where to go on.
        """
        try:
            piece = b64decode(data, validate=True)
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except (OSError, ValueError):
            return NOT_NOW
        try:
            size = os.fstat(file).st_size
            if piece and 0 <= at <= size and at + len(piece) <= FILE_MOST:
                with suppress(OSError):
                    size = max(size, at + os.pwrite(file, piece, at))
            return size
        finally:
            os.close(file)
