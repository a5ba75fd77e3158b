"""Options that several commands have, declared once so that they read alike everywhere."""

from enum import StrEnum
from typing import Annotated

import typer

from muster.cli.terminal.completion import complete_job, complete_node
from muster.model.errors import InvalidInput


class Output(StrEnum):
    """How an answer is printed."""

    TABLE = "table"
    JSON = "json"


Printed = Annotated[Output, typer.Option("-o", "--output", help="A table for people, or json for programs.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print ids only.")]
Follow = Annotated[bool, typer.Option("-f", "--follow", help="Go on until there is nothing more to come.")]
Because = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why; it goes into the audit.")]


def _one_job(said: str) -> str:
    return _jobs([said])[0]


def _jobs(said: list[str]) -> list[str]:
    """The ids unchanged. After a likely mistake, such as `7` or `job 7`, the error shows how an id is written."""
    for each, after in zip(said, [*said[1:], "1"], strict=True):
        if each.isdecimal() or each == "job":
            number = each if each.isdecimal() else after
            raise InvalidInput(f"{each!r} is not the id of a job; an id is one word, such as job-{number}")
    return said


JobId = Annotated[
    str, typer.Argument(metavar="JOB", help="The id of a job.", autocompletion=complete_job, callback=_one_job)
]
JobIds = Annotated[
    list[str], typer.Argument(metavar="JOB", help="Ids of jobs.", autocompletion=complete_job, callback=_jobs)
]
NodeNames = Annotated[list[str], typer.Argument(metavar="NODE", help="Names of nodes.", autocompletion=complete_node)]
