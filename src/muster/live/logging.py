"""The server's own log: one JSON object per line, without secrets, in a file that only its owner can read."""

import json
import logging
import os
import re
import sys
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

from muster.model.limits import SERVER_LOG_BYTES, SERVER_LOGS
from muster.private_files import open_private

_USUAL = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName", "color_message"}
_SECRET = re.compile(r"muster_[0-9a-f]{12}_[A-Za-z0-9_-]+|~[A-Za-z0-9_-]{43}|(?i:bearer)[ .]+[A-Za-z0-9._~+/-]{8,}=*")
HIDDEN = "(hidden)"

_log = logging.getLogger("muster.live")


class JsonLines(logging.Formatter):
    """A record as one line of JSON: time, level, logger, message, and what it is about (job, attempt, cause, …)."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, with everything that looks like a token hidden."""
        moment = datetime.fromtimestamp(record.created, UTC)
        said: dict[str, object] = {
            "at": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        said |= {key: value for key, value in record.__dict__.items() if key not in _USUAL}
        if record.exc_info:
            said["exception"] = self.formatException(record.exc_info)
        return _SECRET.sub(HIDDEN, json.dumps(said, default=str, ensure_ascii=False))


def log_to(path: Path, *, level: int = logging.INFO) -> logging.Handler:
    """Log everything to a file from now on. A full file is rotated, and the oldest one is deleted."""
    handler = _PrivateFile(path, maxBytes=SERVER_LOG_BYTES, backupCount=SERVER_LOGS, encoding="utf-8")
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level)
    return handler


def warn(text: str, *, prefix: str = "warning: ") -> None:
    """Say it where an operator looks: on the terminal, and in the log. Nothing when there is nothing to say."""
    if text:
        sys.stderr.write(f"muster: {prefix}{text}\n")
        _log.warning(text)


class _PrivateFile(RotatingFileHandler):
    """A rotating file that only its owner may read."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging calls it so
        """Ignore the error: on a full disk lines are lost, without a traceback for each of them."""

    def _open(self):  # type: ignore[no-untyped-def]
        return os.fdopen(open_private(self.baseFilename, os.O_APPEND), self.mode, encoding=self.encoding)
