"""Words that are taken as they are become what typer would make of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muster.cli.command_table import FILES, CommandTable
from muster.cli.terminal import plain_values
from tests.unit.cli.conftest import Terminal

SAMPLES = (
    None,
    "",
    "job-1",
    "7",
    "-7",
    "0",
    "999",
    "1" * 30,
    "07",
    "1.5",
    "json",
    "JSON",
    "table",
    "yes",
    True,
    False,
    3,
)
LISTS = ((), ("a",), ("job-1", "7"), [""])


def parameters() -> Iterator[Any]:
    """Every option and argument that there is."""
    waiting = [CommandTable()[name] for name in FILES]
    while waiting:
        command = waiting.pop()
        waiting += getattr(command, "commands", {}).values()
        yield from command.params


def as_typer_has_it(parameter: Any, value: Any) -> Any:
    return parameter.get_runtime_param().coerce(value, param=parameter, ctx=None)


def test_what_is_taken_as_it_is_equals_what_typer_makes_of_it() -> None:
    compared = 0
    for parameter in parameters():
        is_repeated = parameter.multiple or parameter.nargs == -1
        for value in LISTS if is_repeated else SAMPLES:
            taken = plain_values._plain(parameter, value)
            if taken is not plain_values.UNKNOWN and value is not None:
                made = as_typer_has_it(parameter, value)
                assert (type(taken), taken) == (type(made), made), (parameter.name, value)
                compared += 1
    assert compared > 500


@pytest.mark.parametrize(
    ("command", "name", "word", "taken"),
    [
        ("run", "gpus", "0.5", 0.5),
        ("run", "cpus", 2, 2.0),
        ("run", "gpus", "-1", plain_values.UNKNOWN),
        ("run", "gpus", "half", plain_values.UNKNOWN),
        ("config diff", "file", "no/muster.toml", Path("no/muster.toml")),
    ],
)
def test_numbers_and_paths_are_taken_as_they_are(command: str, name: str, word: Any, taken: Any) -> None:
    first, *rest = command.split()
    found: Any = CommandTable()[first]
    for each in rest:
        found = found.commands[each]
    parameter = next(each for each in found.params if each.name == name)
    assert plain_values._plain(parameter, word) == taken


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["ps", "--limit", "0"], "greater than or equal to 1"),
        (["ps", "--limit", "many"], "valid integer"),
        (["ps", "-o", "xml"], "is not one of"),
        (["show"], "Missing argument 'JOB'"),
        (["show", "7"], "is not the id of a job"),
    ],
)
def test_wrong_words_get_the_usual_message(terminal: Terminal, words: list[str], told: str) -> None:
    result = terminal.type(*words)
    assert result.exit_code == 2
    assert told in result.output
