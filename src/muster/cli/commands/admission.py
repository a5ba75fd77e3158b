"""`muster admission` and `muster profiles`: what jobs pass before they enter the queue, and what they may name."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muster.cli.commands.rules import changes_of, value_text
from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import CLUSTER, Listing
from muster.cli.terminal.options import Output, Printed
from muster.cli.terminal.screen import note, show, show_json, show_text
from muster.model.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from muster.client.answers import AdmissionTest

# ruff: noqa: PLC0415

Settings = Annotated[
    list[str],
    typer.Argument(metavar="KEY=VALUE…", help="Settings as in muster.toml; KEY=null is the default."),
]
RuleName = Annotated[str, typer.Argument(metavar="RULE", help="The name of a rule.")]
ProfileName = Annotated[str, typer.Argument(metavar="PROFILE", help="The name of a profile.")]
Before = Annotated[str | None, typer.Option(metavar="RULE", help="Put it before this rule; else last.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="A file with [[admission]] rules, such as muster.toml.")]
Since = Annotated[
    str, typer.Option(metavar="TIME", help="Try them on jobs that were submitted since: 30d, 12h, or a date.")
]

TEXTS = ("when", "deny", "warn")
"""Settings that are typed as they are, without the quotes of a file."""

admission = typer.Typer(
    name="admission", help="Rules that jobs pass before they enter the queue.", no_args_is_help=True
)
profiles = typer.Typer(name="profiles", help="Keys of a job file under names that jobs may give.", no_args_is_help=True)

listing = Listing(CLUSTER)
listing.add_group(admission)
listing.add_group(profiles)


@admission.command("show")
def show_rules(output: Printed = Output.TABLE) -> None:
    """Show the admission rules, in the order in which they are asked."""
    with connect() as client:
        _show_rules(client.admission(), output)


@admission.command("set")
def set_rule(rule: RuleName, settings: Settings, before: Before = None, output: Printed = Output.TABLE) -> None:
    """Change settings of a rule, or add a rule: 'when=!has(job.image)' 'deny=name an image'. The others stay."""
    with connect() as client:
        is_new = rule not in [each["name"] for each in client.admission()]
        _show_rules(client.patch_admission_rule(rule, changes_of(settings, texts=TEXTS), before=before), output)
    if is_new:
        note(f"added the rule {rule!r}, which did not exist; `muster admission remove` removes it")


@admission.command("remove")
def remove_rule(rule: RuleName, output: Printed = Output.TABLE) -> None:
    """Remove an admission rule."""
    with connect() as client:
        _show_rules(client.delete_rule("admission", rule), output)


@admission.command("test")
def try_rules(file: File, since: Since = "30d", output: Printed = Output.TABLE) -> None:
    """Say what the rules of a file would have done to the jobs of the last time. Nothing is changed."""
    from muster.cli.terminal.amounts import time_before

    rules = _rules_of(file)
    with connect() as client:
        found = client.try_admission(rules, since=time_before(since, "--since"))
    if output is Output.JSON:
        show_json(found.document)
    else:
        _show_test(found)


@profiles.command("ls")
def list_profiles(output: Printed = Output.TABLE) -> None:
    """List the profiles that job files may name."""
    with connect() as client:
        found = client.profiles()
    if output is Output.JSON:
        show_json(found)
    elif not found:
        note("there are no profiles; [profiles.NAME] in muster.toml and `muster config apply` publish them")
    else:
        _table(("profile", "fills in"), [(name, ", ".join(keys)) for name, keys in found.items()])


@profiles.command("show")
def show_profile(profile: ProfileName, output: Printed = Output.TABLE) -> None:
    """Show what a profile fills in, as a job file would say it."""
    from muster.cli.drawing.job_card import job_text

    with connect() as client:
        found = client.profiles()
    if profile not in found:
        raise NotFound(f"there is no profile {profile!r}; there are: {', '.join(found) or 'none'}")
    if output is Output.JSON:
        show_json(found[profile])
    else:
        show_text(job_text(found[profile]))


def _rules_of(file: Path) -> list[Any]:
    """The rules in a file, checked here as far as this machine can. Its other tables are not looked at."""
    from muster.formats.admission.rules import admission_part
    from muster.formats.text.document import Problems, read_settings

    document = read_settings(file)
    value = document.value.get("admission") if isinstance(document.value, dict) else None
    if not value:
        raise InvalidInput(f"{file}: there are no [[admission]] rules in it")
    problems = Problems(document)
    admission_part(value, problems, ("admission",))
    problems.stop_if_any()
    return list(value)


def _show_rules(found: Sequence[Mapping[str, Any]], output: Output) -> None:
    if output is Output.JSON:
        show_json(found)
    elif not found:
        note("there are no admission rules: every job that could run here is admitted")
    else:
        _table(("rule", "when", "does"), [(rule["name"], rule.get("when", "always"), _action(rule)) for rule in found])


def _action(rule: Mapping[str, Any]) -> str:
    said = {key: value for key, value in rule.items() if key not in ("name", "when")}
    return ", ".join(f"{key}: {value_text(value)}" for key, value in said.items())


def _show_test(found: "AdmissionTest") -> None:
    kinds = {"denied": found.denied, "changed": found.changed, "warned": found.warned}
    rows = [(kind, each.job, each.rule, each.message) for kind, some in kinds.items() for each in some]
    if rows:
        _table(("would be", "job", "rule", "because"), rows)
    for kind, count in found.more.items():
        if count:
            note(f"{count} more would be {kind}")
    note(f"tried on {found.checked} {'job' if found.checked == 1 else 'jobs'}")
    if not found.complete:
        note("there are more jobs than are tried at once: the newest were tried")


def _table(headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    from muster.cli.drawing.table import TextTable

    made = TextTable(*headings, cut=headings[1:])
    for row in rows:
        made.add_row(*row)
    show(made)
