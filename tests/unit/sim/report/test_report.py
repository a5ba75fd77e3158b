"""The file as a whole: self-contained, harmless, the same each time, bounded, and there for odd replays too."""

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from muster.model.ids import TeamPath
from muster.model.job import JobState
from muster.model.records import evolve
from muster.model.team import Team
from muster.sim.measures import measures
from muster.sim.outcome import Replay
from muster.sim.report import write_report
from muster.sim.report.figures.quantiles import CURVE_POINTS
from muster.sim.report.sections.comparison import POINTS_SHOWN
from muster.sim.report.sections.gantt import BARS_SHOWN
from tests.unit.sim.report.made_up import a_replay, a_trace_job, an_outcome, replay_of
from tests.unit.sim.report.reading import Page, points, read_page, strings

HOSTILE = '</script><script>alert(1)</script><a href="https://example.com">"x" & \'y\' %{x}'
SECTIONS = ("in-short", "distributions", "timelines", "groups", "fairness", "gantt", "comparison", "hashes")


def three(jobs: int = 300) -> list[Replay]:
    return [a_replay(policy, jobs=jobs) for policy in ("fifo", "greedy", "muster")]


def report(replays: Sequence[Replay], folder: Path, **options: Any) -> Page:
    path = folder / "report.html"
    write_report(replays, path, **options)
    return read_page(path)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    teams = (Team(path=TeamPath("team-0"), weight=3_000), Team(path=TeamPath("team-1"), weight=1_000))
    replays = [evolve(each, log_hash=f"hash of {each.policy}") for each in three()]
    return report(replays, tmp_path_factory.mktemp("report"), title="Three policies", teams=teams)


def test_every_section_is_there_and_can_be_reached(page: Page) -> None:
    ids = page.attributes("id")
    assert [each for each in SECTIONS if each not in ids] == []
    assert page.attributes("href") == [f"#{each}" for each in SECTIONS]


def test_every_chart_has_its_place_and_every_place_its_chart(page: Page) -> None:
    places = [each.removeprefix("chart-") for each in page.attributes("id") if each.startswith("chart-")]
    assert places == list(page.charts)
    assert len(set(places)) == len(places)


def test_the_script_knows_every_part_of_every_chart(page: Page) -> None:
    script = (files("muster.sim.report") / "charts.js").read_text("utf-8")
    known = set(re.findall(r"[A-Za-z]\w*", script))
    assert sorted(_names(list(page.charts.values())) - known) == []


def test_strings_of_charts_are_text_and_never_markup() -> None:
    for name in ("charts.js", "page.js"):
        script = (files("muster.sim.report") / name).read_text("utf-8")
        assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", script) == []


def test_a_time_line_begins_with_the_trace_whatever_its_width(page: Page) -> None:
    lines = [page.charts["over-time"], *(chart for key, chart in page.charts.items() if key.startswith("capacity"))]
    assert [chart["layout"]["xaxis"]["range"][0] for chart in lines] == [0] * 4


def test_the_page_knows_the_room_for_labels_where_it_must_choose(page: Page) -> None:
    axes = [
        axis for chart in page.charts.values() for name, axis in chart["layout"].items() if name.startswith("xaxis")
    ]
    chosen = [axis for axis in axes if "tickvals" in axis]
    assert chosen
    assert all(len(axis["range"]) == 2 and len(axis["tickvals"]) == len(axis["ticktext"]) for axis in chosen)


def test_charts_are_drawn_at_once_and_anew_after_printing() -> None:
    script = (files("muster.sim.report") / "page.js").read_text("utf-8")
    assert "IntersectionObserver" not in script
    assert "places().filter(isVisible).forEach(draw);" in script
    assert "redraw();" in script.split("afterprint")[1]


def test_tables_that_are_wider_than_paper_are_printed_smaller_and_are_as_before_afterwards() -> None:
    before, after = (files("muster.sim.report") / "page.js").read_text("utf-8").split('addEventListener("afterprint"')
    assert "tables().forEach(shrink);" in before.split('addEventListener("beforeprint"')[1]
    assert 'table.style.zoom = "";' in after


def test_the_two_ways_to_count_useful_time_are_told_apart(page: Page) -> None:
    assert "where jobs give way to one another it is far below goodput although little work is lost" in page.text


def test_the_header_says_what_the_report_is_about(page: Page) -> None:
    assert "Three policies" in page.text
    assert "96 GPUs" in page.text
    assert "fifo, greedy, muster" in page.text


def test_the_page_loads_nothing(page: Page) -> None:
    assert page.attributes("src") == []
    assert page.count("link") == 0
    assert all(each.startswith("#") for each in page.attributes("href"))
    policy = next(attributes["content"] for tag, attributes in page.tags if "http-equiv" in attributes)
    assert policy.startswith("default-src 'none'")


def test_the_style_sheet_names_every_colour_of_the_charts(page: Page, tmp_path: Path) -> None:
    write_report([a_replay("fifo", jobs=20)], tmp_path / "report.html")
    style = (tmp_path / "report.html").read_text("utf-8").split("</style>")[0]
    used = {each for chart in page.charts.values() for each in strings(chart) if each.startswith("var(")}
    assert [each for each in sorted(used) if style.count(f"{each[4:-1]}:") != 2] == []


def test_what_users_named_things_is_shown_and_never_obeyed(tmp_path: Path) -> None:
    outcomes = [
        an_outcome(a_trace_job(number, id=f"{HOSTILE}{number}", team=HOSTILE, tier=f"{HOSTILE}{number}"), node=HOSTILE)
        for number in range(3)
    ]
    later = [an_outcome(each.job, wait_ms=10**8, node=HOSTILE) for each in outcomes]
    harmless = report([a_replay("fifo", jobs=20), a_replay("muster", jobs=20)], tmp_path)
    replays = [replay_of(outcomes, policy=HOSTILE, trace=HOSTILE), replay_of(later, policy="b", trace=HOSTILE)]
    hostile = report(replays, tmp_path, title=HOSTILE)
    assert hostile.count("script") == harmless.count("script")
    assert [each for each in hostile.attributes("href") if not each.startswith("#")] == []
    assert HOSTILE in hostile.text
    assert any(HOSTILE in each for chart in hostile.charts.values() for each in strings(chart))
    written = (tmp_path / "report.html").read_text("utf-8")
    assert "<" not in written.split('id="charts">')[1].split("</script>")[0]


def test_the_same_replays_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one.html", "two.html"):
        write_report(three(60), tmp_path / name)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_a_report_takes_the_place_of_another_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, link = tmp_path / "report.html", tmp_path / "link.html"
    path.write_text("before", "utf-8")
    link.symlink_to(path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(Path, "replace", full)
        with pytest.raises(OSError, match="No space"):
            write_report(three(20), link)
    assert path.read_text("utf-8") == "before"
    write_report(three(20), link)
    assert path.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.html", "report.html"]
    assert link.is_symlink()


def test_a_large_trace_stays_within_bounds(tmp_path: Path) -> None:
    page = report([a_replay(policy, jobs=8_000, days=1) for policy in ("fifo", "muster")], tmp_path)
    assert (tmp_path / "report.html").stat().st_size < 3_000_000
    bars = [sum(len(each["x"]) for each in chart["data"]) for key, chart in page.charts.items() if "gantt" in key]
    assert max(bars) <= BARS_SHOWN
    assert sum(len(each["x"]) for each in page.charts["scatter-0"]["data"]) <= POINTS_SHOWN + 2
    assert points(page.charts["completion-curve"]) <= CURVE_POINTS
    assert points(page.charts["over-time"]) <= 4_000


def test_a_report_on_400_jobs_can_be_sent_by_mail(tmp_path: Path) -> None:
    policies = ("fifo", "easy", "las", "muster")
    write_report([a_replay(each, jobs=400, days=30) for each in policies], tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size <= 1_000_000


def test_the_advice_comes_first_and_the_hashes_come_last(page: Page) -> None:
    assert page.text.index("Advice") < page.text.index("Measures by policy") < page.text.index("Hash of the log")
    assert page.attributes("href")[-1] == "#hashes"


@pytest.mark.parametrize(("policies", "judged"), [(("fifo", "muster", "las"), "muster"), (("fifo", "easy"), "easy")])
def test_tabs_are_open_on_the_policy_that_is_judged(tmp_path: Path, policies: tuple[str, ...], judged: str) -> None:
    page = report([a_replay(each, jobs=20) for each in policies], tmp_path)
    opened = [attributes["data-label"] for _, attributes in page.tags if "data-first" in attributes]
    assert opened == [judged] * 3


def test_a_trace_without_jobs_gives_a_report(tmp_path: Path) -> None:
    page = report([replay_of([], policy="fifo"), replay_of([], policy="muster")], tmp_path)
    assert "none of 0 jobs finished" in page.text


def test_one_policy_is_not_compared(tmp_path: Path) -> None:
    page = report(three()[:1], tmp_path)
    assert "comparison" not in page.attributes("id")
    assert "★" not in page.text


def test_jobs_that_never_start_or_end_are_counted_and_said(tmp_path: Path) -> None:
    outcomes = [
        an_outcome(a_trace_job(0)),
        an_outcome(a_trace_job(1), wait_ms=None),
        an_outcome(a_trace_job(2), wait_ms=5, ends=False),
    ]
    page = report([replay_of(outcomes), replay_of(outcomes, policy="muster")], tmp_path)
    assert "fifo: 2 jobs not finished when the replay ended." in page.text
    assert "fifo: 1 job not started when the replay ended." in page.text
    assert max(page.charts["completion-curve"]["data"][0]["y"]) == pytest.approx(1 / 3, abs=1e-4)


def test_nothing_that_ended_under_both_leaves_nothing_to_compare(tmp_path: Path) -> None:
    ended, waiting = [an_outcome(a_trace_job(0))], [an_outcome(a_trace_job(0), wait_ms=None)]
    page = report([replay_of(ended), replay_of(waiting, policy="muster")], tmp_path)
    assert "nothing to compare" in page.text


def test_a_report_needs_a_replay(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one replay"):
        write_report([], tmp_path / "report.html")


def test_the_same_policy_twice_has_two_names(tmp_path: Path) -> None:
    small, large = a_replay("muster", jobs=40, nodes=2), a_replay("muster", jobs=40, nodes=4)
    page = report([small, large, large], tmp_path)
    names = [each["name"] for each in page.charts["completion-curve"]["data"]]
    assert names == ["muster, 16 GPUs", "muster, 32 GPUs", "muster, 32 GPUs (2)"]
    assert len({each["line"]["color"] for each in page.charts["completion-curve"]["data"]}) == 3


def test_a_policy_has_the_same_colour_in_every_report(tmp_path: Path) -> None:
    colours = []
    for policies in (("muster", "my-own"), ("fifo", "easy", "muster")):
        page = report([a_replay(each, jobs=20) for each in policies], tmp_path)
        lines = {each["name"]: each["line"]["color"] for each in page.charts["completion-curve"]["data"]}
        assert len(set(lines.values())) == len(lines)
        colours.append(lines["muster"])
    assert colours[0] == colours[1]


def test_figures_that_are_known_already_are_not_worked_out_again(tmp_path: Path) -> None:
    replays = three(40)
    summaries = [{**measures(each), "goodput": 0.1234} for each in replays]
    assert "12.3 %" in report(replays, tmp_path, summaries=summaries).text
    with pytest.raises(ValueError, match="zip"):
        report(replays, tmp_path, summaries=summaries[:1])


def test_teams_have_their_weight_beside_what_they_got(page: Page, tmp_path: Path) -> None:
    def names(of: Page) -> list[str]:
        return [each["name"] for each in of.charts["share-by-team"]["data"]]

    assert names(page) == ["asked for", "weight", "fifo", "greedy", "muster"]
    assert names(report(three(40)[:1], tmp_path)) == ["asked for", "fifo"]


def test_a_job_that_failed_did_not_finish(tmp_path: Path) -> None:
    failed = evolve(an_outcome(a_trace_job(0)), state=JobState.FAILED)
    page = report([replay_of([failed, an_outcome(a_trace_job(1))])], tmp_path)
    assert "1 of 2 jobs finish" in page.text


def _names(value: Any) -> set[str]:
    """The names of all parts of a chart, at any depth."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {*(value if isinstance(value, dict) else ()), *(name for part in parts for name in _names(part))}
