from inspect import signature
from pathlib import Path

from muster.cli.simulation.facts import command
from muster.cli.simulation.setup import ReplayOptions
from muster.cli.simulation.simulate import simulate
from muster.model.policy import Packing


def test_the_command_that_repeats_a_replay_has_every_option_that_decides_its_figures() -> None:
    options = ReplayOptions(
        trace="t.csv",
        policy="fifo,muster",
        cluster="2x8",
        restart_cost="30s",
        checkpoint_every="30m",
        checkpoint_cost="1s",
        seed=7,
        faults="mtbf=9d",
        teams="teams.yaml",
        synthesise=True,
        arrivals="2",
        first=9,
        vary="nodes=1..3",
        type_blind=True,
        packing=Packing.BEST_FIT,
        since="14d",
    )
    words = command(options, Path("r.html")).split()
    declared = {name.replace("_", "-") for name in signature(simulate).parameters} - {"output", "recommend"}
    assert {word.removeprefix("--") for word in words if word.startswith("--")} == declared
    assert "best_fit" in words
