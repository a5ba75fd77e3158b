"""Options as Slurm reads them, and its errors: a line on stderr and exit code 1."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from muster.client import Client
from muster.model.errors import MusterError, NotFound

VERSION = "slurm 22.05.9"
"""The version whose behaviour the commands have. Tools choose their options by it."""


class SlurmError(Exception):
    """What a command says on stderr before it ends with exit code 1."""


class Parser(argparse.ArgumentParser):
    """Reads the options of one command. Long options may be shortened, and short ones written together."""

    def __init__(self, name: str, **settings: Any) -> None:
        super().__init__(prog=name, add_help=False, **settings)
        self.add_argument("-V", "--version", action="version", version=VERSION)
        self.add_argument("--help", action="help")
        self.add_argument("--usage", action="help", help=argparse.SUPPRESS)
        self.add_argument("-v", "--verbose", action="count", default=0)

    def flags(self, *options: str) -> None:
        """Options without a value. Each is written with all its names: `-n --noheader`."""
        for names in options:
            self.add_argument(*names.split(), action="store_true")

    def texts(self, *options: str) -> None:
        """Options that may be given several times, with several values between commas."""
        for names in options:
            self.add_argument(*names.split(), action="append", default=[])

    def ignored(self, *options: str, takes_value: bool = False) -> None:
        """Options that change nothing here: there is one cluster, and its answers are complete."""
        for names in options:
            self.add_argument(*names.split(), action="store" if takes_value else "store_true", help=argparse.SUPPRESS)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, as Slurm does."""
        sys.stderr.write(f'{self.prog}: error: {message}\nTry "{self.prog} --help" for more information\n')
        sys.exit(1)


def joined(arguments: Sequence[str], *options: str) -> list[str]:
    """The arguments with the values of these options joined to them, because their values may begin with a dash."""
    found: list[str] = []
    for word in arguments:
        if found and found[-1] in options:
            found[-1] += f"={word}" if found[-1].startswith("--") else word
        else:
            found.append(word)
    return found


def words(values: Sequence[str]) -> tuple[str, ...]:
    """The values of an option that was given several times, each with commas. Commas in brackets separate nothing."""
    return tuple(word for value in values for word in _split(value) if word)


def _split(value: str) -> Iterator[str]:
    start = depth = 0
    for place, letter in enumerate(value):
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            yield value[start:place].strip()
            start = place + 1
    yield value[start:].strip()


def show_lines(lines: Iterable[str]) -> None:
    """Print lines."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def complain(message: str) -> None:
    """Print a line on stderr."""
    sys.stderr.write(f"{message}\n")


@contextmanager
def connected(command: str) -> Iterator[Client]:
    """A client. An error of the server becomes one of Slurm."""
    try:
        with Client() as client:
            yield client
    except NotFound as error:
        raise SlurmError(f"{command}: error: Invalid job id specified: {error}") from None
    except MusterError as error:
        raise SlurmError(f"{command}: error: {error}") from None
