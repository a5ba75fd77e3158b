"""Things that happen to a scheduler, one by one, at random."""

from random import Random

from muster.core.snapshot import Snapshot
from muster.model.job import RunningJob
from muster.model.node import NodeState
from muster.model.records import evolve
from muster.model.scenario import Scenario
from muster.model.team import ANY_TYPE
from tests.property.checks import planned
from tests.property.work import waits_at_random

EDITS = 6
"""How many of them make one play."""

COMINGS = ("start", "start", "finish", "enqueue", "dequeue", "node", "leaving", "checkpointed", "promise")
CHANGES = ("tier", "resizable", "resize", "rules")


def edit(snapshot: Snapshot, scenario: Scenario, chance: Random, name: str) -> None:
    """One thing that happens to a scheduler."""
    kind = chance.choice((*COMINGS, *CHANGES))
    (_change if kind in CHANGES else _happen)(snapshot, scenario, chance, kind, name)


def _happen(snapshot: Snapshot, scenario: Scenario, chance: Random, kind: str, name: str) -> None:
    running, waiting = sorted(snapshot.running), sorted(snapshot.queue.jobs)
    match kind:
        case "start":
            made = planned(snapshot.scenario(scenario.now_ms))
            for start in made.starts:
                job = snapshot.dequeue(start.job)
                snapshot.start(RunningJob(id=job.id, spec=job.spec, started_ms=scenario.now_ms, workers=start.workers))
        case "finish" if running:
            snapshot.finish(chance.choice(running))
        case "enqueue":
            snapshot.enqueue(waits_at_random(chance.getrandbits(32), name, scenario.cluster, scenario.tiers))
        case "dequeue" if waiting:
            snapshot.dequeue(chance.choice(waiting))
        case "node":
            node = chance.choice(snapshot.setting.tree.nodes)
            snapshot.change_node(evolve(node, state=chance.choice(list(NodeState)), bad_gpus=()))
        case "leaving" if running:
            snapshot.leaving(chance.choice(running), scenario.now_ms + 30_000)
        case "checkpointed" if running:
            snapshot.checkpointed(chance.choice(running), scenario.now_ms - 1_000)
        case "promise":
            snapshot.promise(planned(snapshot.scenario(scenario.now_ms)).promises)
        case _:
            pass


def _change(snapshot: Snapshot, scenario: Scenario, chance: Random, kind: str, _name: str) -> None:
    """A running job or the rules become other than they were."""
    running = sorted(snapshot.running)
    match kind:
        case "tier" if running:
            job = snapshot.running[chance.choice(running)]
            snapshot.respecify(job.id, evolve(job.spec, tier=chance.choice(scenario.tiers).name))
        case "resizable" if running:
            lost_workers = chance.randrange(2)
            snapshot.resizable(chance.choice(running), chance.random() < 0.5, scenario.now_ms - 1_000, lost_workers)
        case "resize":
            made = planned(snapshot.scenario(scenario.now_ms))
            for resize in made.resizes:
                if resize.job in snapshot.running:
                    snapshot.resize(resize.job, resize.workers)
        case "rules":
            limits = chance.choice(((), ((ANY_TYPE, 8_000),)))
            teams = tuple(evolve(team, limit=limits) for team in scenario.teams)
            snapshot.change_rules(evolve(snapshot.rules, teams=teams), scenario.now_ms)
        case _:
            pass
