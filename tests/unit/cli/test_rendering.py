import io
from dataclasses import replace

import pytest
from rich.console import Console

from muster.cli.drawing.plan_text import print_decision
from muster.cli.terminal.screen import PIPED_COLUMNS
from muster.formats.scenarios.scenario_file import scenario_from_document
from muster.formats.text.document import parse_document
from muster.model.plan import Plan
from tests.unit.cli.decisions import SCENARIO, Decision, Explanation, decide


class Ascii(io.StringIO):
    encoding = "ascii"


class Utf8(io.StringIO):
    encoding = "utf-8"


def printed(*, text: str = SCENARIO, to: io.StringIO | None = None, explain: bool = False, waiting: int = 0) -> str:
    """What is printed about a scenario, 100 columns wide and without colour."""
    stream = to or Utf8()
    scenario = scenario_from_document(parse_document(text, file="s.yaml"))
    decision = decide(scenario) if text == SCENARIO else Decision(plan=Plan(version=0, now_ms=scenario.now_ms))
    if waiting:
        one = decision.explanations[0]
        many = tuple(Explanation(job=one.job, position=place, reasons=one.reasons) for place in range(waiting))
        decision = replace(decision, explanations=many)
    console = Console(file=stream, width=100, highlight=False, markup=False, emoji=False)
    print_decision(scenario, decision, explain=explain, console=console)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def test_every_gpu_is_a_cell_that_shows_what_becomes_of_it() -> None:
    text = printed()
    assert "r1    n1    ▽▽▽▽  h100  main  ▽old ◇urgent" in text
    assert "      n2    ◪■▽◇  h100  main  half ▽grow ◇[red]late" in text
    assert "r2    n3    ×▲▲·  h100  main  ▲new" in text
    assert "      n4    ░░░░  h100  main  drained" in text


def test_the_legend_names_only_what_is_drawn() -> None:
    assert "· free   ■ running   ◪ shared   ▲ starts now   ▽ must leave   ◇ promised   × bad GPU   ░ out" in printed()
    assert "promised " not in printed(text="now: 2026-01-01T00:00:00Z\ncluster: 2x2")


def test_all_reasons_and_what_would_help_are_shown() -> None:
    text = printed()
    assert "urgent  default  production  1 x 4 GPU  likely to start now, nine times in ten in 1d2h" in text
    assert "capacity: 3 of 4 GPUs are free" in text
    assert "would help: waiting for old to end" in text
    assert "topology: no rack has 4" in text
    assert "[red]late  default  standard  1 x 4 GPU  likely to start in 1m" in text


def test_what_starts_leaves_and_is_promised_is_shown() -> None:
    lines = [" ".join(line.split()) for line in printed().splitlines()]
    assert "new nlp standard 1 x 2 h100 n3" in lines
    assert "old default exploratory 4 urgent tier 16.0 GPU-h" in lines
    assert "grow 2 to 1 new" in lines
    assert "urgent 1 x 4 GPU in 30s n1 once those told to leave are gone; n4 was drained" in lines
    assert "jx never_fits larger than the cluster" in lines


def test_a_plain_terminal_gets_plain_signs() -> None:
    text = printed(to=Ascii())
    assert text.isascii()
    assert "r2    n3    x^^." in text


def test_no_line_is_wider_than_100_columns() -> None:
    assert max(map(len, printed(explain=True).splitlines())) <= 100


def test_a_long_queue_is_cut_unless_everything_is_asked_for() -> None:
    assert "… and 10 more wait" in printed(waiting=30)
    assert "more wait" not in printed(waiting=30, explain=True)


def test_a_large_cluster_is_summed_up() -> None:
    text = printed(text="now: 2026-01-01T00:00:00Z\ncluster: 1000x8")
    assert len(text.splitlines()) < 10
    assert "main   1000  8000  8000" in text


def test_a_large_cluster_with_many_domains_is_cut() -> None:
    nodes = "\n".join(f"    - {{name: n{place}, gpus: 1, rack: r{place}}}" for place in range(100))
    text = printed(text=f"now: 2026-01-01T00:00:00Z\ncluster:\n  levels: [rack]\n  nodes:\n{nodes}")
    assert "… and 36 more" in text


def test_output_to_a_file_is_wide_and_without_colour(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    scenario = scenario_from_document(parse_document(SCENARIO, file="s.yaml"))
    print_decision(scenario, decide(scenario), explain=True)
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= PIPED_COLUMNS


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Utf8()
    scenario = scenario_from_document(parse_document(SCENARIO, file="s.yaml"))
    console = Console(file=stream, width=100, force_terminal=True, markup=False)
    print_decision(scenario, decide(scenario), explain=True, console=console)
    assert "\x1b[31" not in stream.getvalue()
    assert "\x1b[34" not in stream.getvalue()
