"""A recommendation for people: what to change, what it brings, what it costs, and how that was found out."""

import json
from collections.abc import Callable, Iterator
from textwrap import wrap
from typing import Any

from rich.console import Console
from rich.table import Table

from muster.cli.simulation.figures_table import duration
from muster.cli.terminal.screen import screen, show
from muster.cli.terminal.text import Text
from muster.formats.text.document import TOML_SUFFIX
from muster.sim.recommend.comparison import GROUP_JOBS, NOISE, Worse
from muster.sim.recommend.document import settings_changed
from muster.sim.recommend.recommendation import Advice, Recommendation
from muster.sim.recommend.score import Score
from muster.sim.recommend.search import TriedPolicy
from muster.sim.report.figures.wording import MINUS, SPACE, change_text, count_text, list_text, percent_text

TEXT_COLUMNS = 100
"""Sentences are not wider than this, however wide the terminal is."""
BETTER, WORSE = "green", "yellow"
NOISE_TEXT = f"{NOISE:.0%}".replace("%", f"{SPACE}%")
PARTS = ("unfair", "utilisation")
"""Figures that are parts of a whole: their changes are told in percentage points."""


Shown = tuple[str, Callable[[float], str], int]
"""What people call a figure, how its value is written, and -1 when less is better, else 1."""

FIGURES: dict[str, Shown] = {
    "completion_mean_s": ("mean time from submission to end", duration, -1),
    "wait_mean_s": ("mean waiting time, also between preemptions", duration, -1),
    "wait_p99_s": ("waiting time of the worst 1\u00a0% (p99)", duration, -1),
    "unfair": ("jobs that got less than their fair share", percent_text, -1),
    "rho_worst": ("worst job, in multiples of its fair time (rho)", "{:.1f}".format, -1),
    "preemptions_per_job": ("preemptions per job", "{:.3f}".format, -1),
    "utilisation": ("GPUs in use", percent_text, 1),
    "unfinished": ("jobs that did not finish", "{:,.0f}".format, -1),
}
ALWAYS_SHOWN = tuple(name for name in FIGURES if name != "unfinished")


def print_recommendation(made: Recommendation, lines: dict[str, Any], *, file: str) -> None:
    """Print it. `lines` are the settings to write, and `file` the file of the present policy, if it has one."""
    console = screen()
    _say(console, _headline(made), style="bold")
    if made.judged is not None:
        if made.advice is Advice.CHANGE:
            _print_lines(lines, file)
        _print_figures(made.judged.present, made.judged.best.score)
        for text in _costs(made.judged.best):
            _say(console, text)
    _print_trials(made)
    for text in _method(made):
        _say(console, text)


def _headline(made: Recommendation) -> str:
    """What to do, in one sentence or two."""
    if made.judged is None:
        return (
            f"Keep what you have. No setting that was tried makes jobs complete more than {NOISE_TEXT} sooner on "
            "average without making others pay too much for it."
        )
    best = made.judged.best
    what = _settings_text(settings_changed(made, best))
    match made.advice:
        case Advice.CHANGE:
            return f"Change {what}. Jobs complete {percent_text(best.gain)} sooner on average."
        case Advice.HARM_FOUND:
            harm = "; ".join(_sentence(worse_text(each)) for each in best.too_much)
            gain = f"jobs would complete {percent_text(best.gain)} sooner on average"
            return f"Keep what you have. After changing {what} {gain}, but others would pay too much. {harm}."
        case _:
            chosen = made.chosen.best.gain if made.chosen.best is not None else 0.0
            return (
                f"Keep what you have. Changing {what} looked {percent_text(chosen)} better on the first half of the "
                f"jobs, but it is {_sooner(best.gain)} on the second half: what was gained is noise."
            )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _sooner(gain: float) -> str:
    return f"{percent_text(gain)} better" if gain >= 0 else f"{percent_text(-gain)} worse"


def _settings_text(settings: dict[str, Any]) -> str:
    return list_text([f"{key} to {_written(value)}" for key, value in settings.items()])


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _print_lines(lines: dict[str, Any], file: str) -> None:
    """What to write where. A policy that has no file is shown for both kinds of files."""
    is_toml = file.lower().endswith(TOML_SUFFIX)
    if is_toml or not file:
        show(Text(f"\nIn {file or 'muster.toml'}:\n\n    [policy]"))
        for key, value in lines.items():
            show(Text(f"    {key} = {json.dumps(value)}"))
    if not is_toml:
        show(Text(f"\nIn {file or 'a scenario'}:\n\n    policy:"))
        for key, value in lines.items():
            show(Text(f"      {key}: {_written(value)}"))


def _print_figures(present: Score, then: Score) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("second half of the jobs", no_wrap=True)
    for heading in ("now", "then", "change"):
        table.add_column(heading, justify="right", no_wrap=True)
    shown = [*ALWAYS_SHOWN, *(["unfinished"] if present.unfinished or then.unfinished else [])]
    for figure in shown:
        name, text, better = FIGURES[figure]
        before, after = getattr(present, figure), getattr(then, figure)
        by = (after - before) * better
        style = BETTER if by > 0 else WORSE if by < 0 else ""
        change = _points_text(after - before) if figure in PARTS else change_text(after, before)
        cells = (name, text(before), text(after))
        table.add_row(*(cell.replace(SPACE, " ") for cell in cells), Text(change.replace(SPACE, " "), style=style))
    show(Text(""))
    show(table)


def _points_text(by: float) -> str:
    return f"{by * 100:+.1f} points".replace("-", MINUS)


def _costs(best: TriedPolicy) -> Iterator[str]:
    """Who pays for it."""
    yield ""
    if not best.worse:
        yield f"Nothing is worse by more than noise, for no tier and no team with at least {GROUP_JOBS} jobs."
    for each in best.worse:
        yield f"Worse: {worse_text(each)}."


def worse_text(worse: Worse) -> str:
    """A figure that became worse, as part of a sentence."""
    name, text, _ = FIGURES[worse.figure]
    change = f"{text(worse.then)} instead of {text(worse.present)}"
    if worse.tier or worse.team:
        group = f"tier {worse.tier}" if worse.tier else f"team {worse.team}"
        return f"jobs of {group} wait {change} on average"
    return f"{name}: {change}"


def _print_trials(made: Recommendation) -> None:
    """Every setting that was tried to choose one."""
    now = made.chosen.present
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("tried on the first half of the jobs", no_wrap=True)
    for heading in ("mean time", "change"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("remark")
    table.add_row(f"now ({made.present.name})", duration(now.completion_mean_s), "", "")
    for trial in made.chosen.tried:
        mean_s = trial.score.completion_mean_s
        change = change_text(mean_s, now.completion_mean_s).replace(SPACE, " ")
        settings = ", ".join(f"{key}: {_written(value)}" for key, value in settings_changed(made, trial).items())
        table.add_row(Text(settings), duration(mean_s), change, Text(_remark(made, trial).replace(SPACE, " ")))
    show(Text(""))
    show(table)
    show(Text(""))


def _remark(made: Recommendation, trial: TriedPolicy) -> str:
    if trial.decides_the_same:
        return "decides nothing differently"
    if trial == made.chosen.best:
        return "the best"
    if trial.gain > NOISE and trial.too_much:
        return f"too much worse: {worse_text(trial.too_much[0])}"
    return "" if trial.is_better else "no better than noise" if trial.gain > 0 else ""


def _method(made: Recommendation) -> Iterator[str]:
    """How this was found out, and what it does not say."""
    jobs = made.trace.jobs
    first, second = count_text(made.split, "job"), count_text(len(jobs) - made.split, "job")
    first_span = duration((made.split_ms - jobs[0].submit_ms) / 1000)
    second_span = duration((jobs[-1].submit_ms - made.split_ms) / 1000)
    if made.judged is None:
        yield f"Settings were tried on the first {first} ({first_span}), with {made.replays} replays."
        yield f"The other {second} ({second_span}) would have judged the best of them, but there was none."
    else:
        yield (
            f"Settings were chosen on the first {first} ({first_span}) and judged on the other {second} "
            f"({second_span}), which had no part in the choice, with {made.replays} replays."
        )
    yield (
        f"Better means: a mean completion time shorter by more than {NOISE_TEXT} on both halves, and nothing else too "
        "much worse (docs/SIMULATOR.md says how much)."
    )
    yield "Nothing was changed. What was better for these jobs is likely, not certain, to be better for the next."


def _say(console: Console, text: str, *, style: str = "") -> None:
    width = min(console.width, TEXT_COLUMNS)
    # A line of no words stays a line.
    for line in wrap(text, width) or [""]:
        console.print(Text(line.replace(SPACE, " "), style=style), soft_wrap=True)
