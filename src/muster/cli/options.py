"""Options that several commands have, declared once so that they read alike everywhere."""

from enum import StrEnum
from typing import Annotated

import typer

from muster.cli.completion import complete_job, complete_node


class Output(StrEnum):
    """How an answer is printed."""

    TABLE = "table"
    JSON = "json"


Printed = Annotated[Output, typer.Option("-o", "--output", help="A table for people, or json for programs.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print ids only.")]
Follow = Annotated[bool, typer.Option("-f", "--follow", help="Go on until there is nothing more to come.")]
Because = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why; it goes into the audit.")]
JobId = Annotated[str, typer.Argument(metavar="JOB", help="The id of a job.", autocompletion=complete_job)]
JobIds = Annotated[list[str], typer.Argument(metavar="JOB", help="Ids of jobs.", autocompletion=complete_job)]
NodeNames = Annotated[list[str], typer.Argument(metavar="NODE", help="Names of nodes.", autocompletion=complete_node)]
