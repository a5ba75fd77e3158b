"""A process that judges jobs for a server, one after another, until the server closes its side.

python -m muster.api.admission conditions FD     by the rules that it is given
python -m muster.api.admission plugin FD NAME    by a function of an installed package

FD is the socket to the server. Conditions note in shared memory which rule they are at, so that the server knows which
one broke the process. What plug-ins print goes nowhere.
"""

import mmap
import os
import resource
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import entry_points
from typing import Any

from muster.api.admission import messages
from muster.formats.admission.judging import RuleBook
from muster.model.client_limits import ADMISSION_JUDGE_BYTES

LOOK_S = 1.0
"""How often it looks whether the server is still there."""
PROBLEM_CHARS = 300
ANSWERS = ("deny", "warn", "set")

Plugin = Callable[[dict[str, Any], str, str, datetime], Mapping[str, Any] | None]
Answers = Callable[[bytes], bytes]


def main(arguments: list[str]) -> None:
    """Answer frames with frames. The first frame says that it is ready."""
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (ADMISSION_JUDGE_BYTES, ADMISSION_JUDGE_BYTES))
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()
    kind, descriptor, *more = arguments
    answers = _plugin(more[0]) if kind == messages.PLUGIN else _conditions(int(more[0]))
    with socket.socket(fileno=int(descriptor)) as server, server.makefile("rwb") as stream:
        _send(stream, b"")
        while len(head := stream.read(messages.LENGTH_BYTES)) == messages.LENGTH_BYTES:
            _send(stream, answers(stream.read(int.from_bytes(head, "big"))))


def _leave_with(server: int) -> None:
    """End once the server is gone, even if a plug-in hangs: there is nobody left to kill it."""
    while os.getppid() == server:
        time.sleep(LOOK_S)
    os._exit(1)


def _send(stream: Any, frame: bytes) -> None:
    stream.write(len(frame).to_bytes(messages.LENGTH_BYTES, "big") + frame)
    stream.flush()


def _conditions(noted: int) -> Answers:
    """Answers by rules."""
    book = RuleBook(())
    place = mmap.mmap(noted, messages.LENGTH_BYTES)

    def note(rule: int) -> None:
        place[:] = rule.to_bytes(messages.LENGTH_BYTES, "big")

    def answer(frame: bytes) -> bytes:
        nonlocal book
        asked = messages.question(frame)
        if asked.rules is not None:
            book = RuleBook(asked.rules)
        found = book.judge(asked.asked, first=asked.first, skipped=frozenset(asked.skipped), note=note)
        return messages.encoded(found)

    return answer


def _plugin(name: str) -> Answers:
    """Answers by a plug-in."""
    call, problem = load(name)

    def answer(frame: bytes) -> bytes:
        if call is None:
            return messages.encoded(messages.PluginAnswer(problem=problem))
        return messages.encoded(called(call, messages.plugin_question(frame)))

    return answer


def load(name: str) -> tuple[Plugin | None, str]:
    """The plug-in with this name, or why there is none."""
    found = list(entry_points(group=messages.GROUP, name=name))
    if not found:
        known = sorted(each.name for each in entry_points(group=messages.GROUP))
        return None, f"no installed package has the plug-in {name!r}; there are: {', '.join(known) or 'none'}"
    try:
        plugin: Plugin = found[0].load()
    except BaseException as error:  # noqa: BLE001 (code of others may raise anything)
        return None, _told(error)
    return plugin, ""


def called(call: Plugin, asked: messages.PluginQuestion) -> messages.PluginAnswer:
    """What a plug-in says of a job."""
    try:
        said = call(asked.view, asked.user, asked.team, datetime.fromtimestamp(asked.now_ms / 1000, UTC))
        return _understood(said)
    except BaseException as error:  # noqa: BLE001
        return messages.PluginAnswer(problem=_told(error))


def _understood(said: object) -> messages.PluginAnswer:
    if said is None:
        return messages.PluginAnswer()
    if not isinstance(said, Mapping) or any(key not in ANSWERS for key in said):
        return messages.PluginAnswer(problem=f"it answered {str(said)[:80]!r}, not None or a mapping with {ANSWERS}")
    deny, warn, values = said.get("deny") or "", said.get("warn") or "", said.get("set") or {}
    if not (isinstance(deny, str) and isinstance(warn, str) and isinstance(values, Mapping)):
        return messages.PluginAnswer(problem="deny and warn must be text, and set a mapping of keys of the job file")
    return messages.PluginAnswer(deny=deny[:PROBLEM_CHARS], warn=warn[:PROBLEM_CHARS], values=dict(values))


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:PROBLEM_CHARS]


if __name__ == "__main__":
    main(sys.argv[1:])
