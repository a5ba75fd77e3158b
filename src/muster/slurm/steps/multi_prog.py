"""The file of `srun --multi-prog`: which program each task of a step runs. Pure.

0      ./server --port 7000      # words as a shell reads them
1-3    ./worker %t %o            # the number of the task, and its place in this line
*      sleep 60                  # all others
"""

import shlex


class BadProgramFile(Exception):
    """The file cannot be used. The message says why, in the words of `srun`."""


def programs(text: str, tasks: int) -> dict[int, list[str]]:
    """The command of each task. The first line that names a task counts, and `*` for those that no line names."""
    found: dict[int, list[str]] = {}
    others: list[str] = []
    for line in text.replace("\\\n", " ").splitlines():
        ranks, *command = _words(line)
        if not ranks:
            continue
        if not command:
            raise BadProgramFile(f"Configuration file invalid, no program for task {ranks}")
        if ranks == "*":
            others = others or command
            continue
        for offset, task in enumerate(_numbers(ranks, tasks)):
            found.setdefault(task, _filled(command, task, offset))
    left = [task for task in range(tasks) if task not in found]
    if left and not others:
        raise BadProgramFile(f"Configuration file invalid, no record for task id {left[0]}")
    return found | {task: _filled(others, task, offset) for offset, task in enumerate(left)}


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line, comments=True) or [""]
    except ValueError as error:
        raise BadProgramFile(f"Configuration file invalid, line {line.strip()!r}: {error}") from None


def _numbers(ranks: str, tasks: int) -> list[int]:
    numbers: list[int] = []
    for part in ranks.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise BadProgramFile(f"Configuration file invalid, line item {ranks!r} is no task and no range of tasks")
        highest = int(last or first)
        if highest >= tasks:
            raise BadProgramFile(f"Configuration file invalid, task {highest} is beyond the last of {tasks} tasks")
        numbers += range(int(first), highest + 1)
    return numbers


def _filled(command: list[str], task: int, offset: int) -> list[str]:
    return [word.replace("%t", str(task)).replace("%o", str(offset)) for word in command]
