"""A report over several values of one thing: curves for it, and the policies compared at one value."""

from pathlib import Path

import pytest

from muster.sim.outcome import Replay
from muster.sim.quantity import Quantity
from muster.sim.report import About, Sweep, write_report
from tests.unit.sim.report.made_up import a_replay
from tests.unit.sim.report.reading import Page, read_page

NODES = (4, 8, 12)
POLICIES = ("fifo", "muster", "my-own")


def replays() -> list[Replay]:
    return [a_replay(policy, jobs=80, nodes=nodes) for nodes in NODES for policy in POLICIES]


def swept(present: float | None) -> Sweep:
    return Sweep(quantity=Quantity.NODES, values=[nodes for nodes in NODES for _ in POLICIES], present=present)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    path = tmp_path_factory.mktemp("sweep") / "report.html"
    about = About(facts=[("Seed", "1")], command="muster simulate --seed 1", made_up="Tiers are made up.")
    write_report(replays(), path, sweep=swept(9), about=about)
    return read_page(path)


def test_the_curves_have_what_was_varied_below_and_one_line_for_each_policy(page: Page) -> None:
    for key in ("sweep-completion", "sweep-wait", "sweep-utilisation"):
        above = [line for line in page.charts[key]["data"] if line["yaxis"] == "y"]
        assert [(line["name"], line["x"]) for line in above] == [(policy, list(NODES)) for policy in POLICIES]
    assert page.charts["sweep-wait"]["layout"]["xaxis"]["title"]["text"] == "Nodes"


def test_a_colour_is_one_policy_everywhere(page: Page) -> None:
    colours = [
        {line["name"]: line["line"]["color"] for line in page.charts[key]["data"]}
        for key in ("sweep-completion", "sweep-utilisation", "completion-curve", "over-time", "rho")
    ]
    assert len(set(colours[0].values())) == len(POLICIES)
    assert colours == [colours[0]] * len(colours)


def test_policies_are_compared_at_one_value_which_is_said(page: Page) -> None:
    names = [line["name"] for line in page.charts["completion-curve"]["data"]]
    assert names == list(POLICIES)
    assert "8 nodes, of what was tried the nearest to 9 nodes" in page.text
    assert "With 8 nodes. A curve further to the left is better" in page.text


def test_the_table_has_every_replay_beside_the_first_policy_of_its_value(page: Page) -> None:
    assert "Measures of every replay, with the difference from fifo under the same conditions" in page.text
    assert all(f"{policy}, {nodes} nodes" in page.text for policy in POLICIES for nodes in NODES)


@pytest.mark.parametrize(
    ("present", "chosen", "reason"),
    [
        (None, 8, "8 nodes, the middle of what was tried"),
        (12, 12, "12 nodes, as it is without varying it"),
        (1, 4, "4 nodes, of what was tried the nearest to 1 node"),
        (10, 8, "8 nodes, of what was tried the nearest to 10 nodes"),
    ],
)
def test_the_value_nearest_to_the_present_is_chosen(present: float | None, chosen: float, reason: str) -> None:
    sweep = swept(present)
    assert (sweep.chosen, sweep.reason.replace("\u00a0", " ")) == (chosen, reason)


@pytest.mark.parametrize(
    ("quantity", "text"), [(Quantity.ARRIVALS, "1.5× arrivals"), (Quantity.RESTART_COST, "restart cost 1.5 s")]
)
def test_every_quantity_has_its_words(quantity: Quantity, text: str, tmp_path: Path) -> None:
    sweep = Sweep(quantity=quantity, values=[1.5, 3])
    assert sweep.text(1.5).replace("\u00a0", " ") == text
    write_report(replays()[:2], tmp_path / "report.html", sweep=sweep)
    assert f"{text} to" in read_page(tmp_path / "report.html").text


def test_what_was_simulated_is_said_with_how_to_repeat_it(page: Page, tmp_path: Path) -> None:
    assert "about" in page.attributes("id")
    assert "muster   simulate   --seed   1" in page.text
    assert page.text.count("Tiers are made up.") == 2
    write_report(replays()[:2], tmp_path / "report.html")
    assert "about" not in read_page(tmp_path / "report.html").attributes("id")
