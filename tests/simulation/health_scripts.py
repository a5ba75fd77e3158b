"""Random scripts of signals over a small fleet: what is ill is known, and everything else is noise.

An engine records the verdicts and moves the jobs, as in a live server. After every look the fleet is compared with the
truth.
"""

from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from muster.backends.fake import FakeBackend, GangScript
from muster.core.health import LIMITS, HealthPolicy, budget_readings
from muster.core.health.guarding import gpus_out_most, nodes_out_most
from muster.engine.engine import Engine, Submitted
from muster.live.publishing.feed import Feed
from muster.live.publishing.publisher import Publisher
from muster.live.watching.health_watch import HealthWatch
from muster.model.events import HEALTH, NodeChanged, NodeReturned, NodeUnreachable
from muster.model.ids import JobId, NodeName
from muster.model.node import Node, NodeState
from muster.model.records import evolve
from muster.model.telemetry import NodeTested, Signal
from muster.store.memory import MemoryLog
from muster.worker.probes.counters import Counters
from tests.builders import NOW_MS, a_job, a_scenario, flat

EVERY_MS = 10_000
LOOK_MS = 5_000
POLICY = HealthPolicy(every_ms=EVERY_MS, is_tested=True)
ILL_FOR_MS = 20 * 60_000
SETTLED_MS = 5 * 3_600_000
"""So long after the last ailment every node is back, also one that was taken out as often as a script can."""

NODES, GPUS = 10, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Ailment:
    """What one node or GPU suffers from, and when."""

    kind: str
    node: NodeName
    gpu: int | None
    from_ms: int
    until_ms: int

    def is_on(self, now_ms: int) -> bool:
        return self.from_ms <= now_ms < self.until_ms


OF_GPUS = {"hot": "gpu_temperature", "throttled": "gpu_throttled", "ecc": "gpu_ecc_uncorrected", "lost": "gpu_lost"}
OF_NODES = {"link": "nic_down", "slow": "nic_speed", "fabric": "", "silent": ""}

FLAPPING_READINGS = 12
"""A link that is down in every other reading is found out once the readings that are looked at are all of that time."""


def budget_ms(kind: str) -> int:
    """How long something bad may stay in service: so many readings, and two looks."""
    signal = (OF_GPUS | OF_NODES)[kind]
    readings = budget_readings(LIMITS[signal]) if signal else 2
    return (max(readings, FLAPPING_READINGS if kind in ("link", "throttled") else 0)) * EVERY_MS + 2 * LOOK_MS


@dataclass
class Fleet:
    """The fleet of one script, with an engine, a watch and the truth."""

    seed: int
    random: Random = field(init=False)
    now_ms: int = NOW_MS
    ailments: list[Ailment] = field(default_factory=list)
    drained_by_operator: dict[NodeName, None] = field(default_factory=dict)
    overruled_ms: dict[NodeName, int] = field(default_factory=dict)
    started_ms: int = NOW_MS
    """When the control plane was last started."""
    wrong: set[tuple[NodeName, str, int | None]] = field(default_factory=set)
    """What is wrong now, by node, kind and GPU."""
    full_ms: int = 0
    """When as much was out of service as may be, the last time. A place that comes free is taken at the next look."""
    is_calm: bool = False
    """True when there is not even noise any more."""
    ill_seats: dict[JobId, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        scenario = a_scenario(flat(NODES, gpus=GPUS), now_ms=NOW_MS)
        self.backend = FakeBackend(now_ms=NOW_MS)
        self.engine = Engine(scenario=scenario, log=MemoryLog(), backend=self.backend)
        self.names = tuple(self.engine.state.nodes)
        self.publisher = Publisher(Feed(0))
        self.counts: dict[tuple[NodeName, str, int | None], int] = {}
        self.counters = {name: Counters(Path("nowhere")) for name in self.names}
        self.phase_ms = {name: self.random.randrange(0, EVERY_MS, LOOK_MS) for name in self.names}
        self.spiked: dict[tuple[NodeName, str], int] = {}
        self.asked: list[tuple[NodeName, int]] = []
        self.watch = self.new_watch()
        self.jobs = [self.submit() for _ in range(6)]
        self.fall_ill()

    def new_watch(self) -> HealthWatch:
        return HealthWatch(POLICY, now_ms=self.now_ms, ask_test=lambda node, number: self.asked.append((node, number)))

    def submit(self) -> JobId:
        submitted = self.engine.submit(a_job(gpus=self.random.choice((1, 2)), hours=48), self.now_ms)
        assert isinstance(submitted, Submitted)
        self.backend.script(submitted.job, *[GangScript(run_ms=None)] * 40)
        return submitted.job

    def fall_ill(self) -> None:
        """Decide what will be wrong: nothing, a few things, or all at once."""
        plot = self.random.choice(("one", "few", "few", "false alarm", "everything"))
        number = {"one": 1, "few": self.random.randint(2, 4), "false alarm": NODES, "everything": 3 * NODES}[plot]
        kind = self.random.choice((*OF_GPUS, "link", "slow", "fabric"))
        for each in range(number):
            same = plot == "false alarm"
            chosen = kind if same else self.random.choice((*OF_GPUS, *OF_NODES))
            node = self.names[each % NODES] if same else self.random.choice(self.names)
            from_ms = NOW_MS + 300_000 + (0 if same else self.random.randrange(0, 1_200_000, LOOK_MS))
            self.ailments.append(
                Ailment(
                    kind=chosen,
                    node=node,
                    gpu=self.random.randrange(GPUS) if chosen in OF_GPUS else None,
                    from_ms=from_ms,
                    until_ms=from_ms + self.random.randrange(60_000, ILL_FOR_MS, LOOK_MS),
                )
            )

    def of(self, node: NodeName, kind: str, gpu: int | None = None) -> bool:
        """True while this is wrong with the node or its GPU."""
        return (node, kind, gpu) in self.wrong

    def run(self) -> None:
        """The whole script, checked after every look."""
        end_ms = max(each.until_ms for each in self.ailments) + 60_000
        restart_ms = self.random.randrange(NOW_MS, end_ms, LOOK_MS)
        acts = {self.random.randrange(NOW_MS, end_ms, LOOK_MS): self.operate for _ in range(self.random.randint(0, 3))}
        while self.now_ms < end_ms:
            self.now_ms += LOOK_MS
            if self.now_ms == restart_ms:
                self.watch, self.started_ms = self.new_watch(), self.now_ms
            if self.now_ms in acts:
                acts[self.now_ms]()
            self.step()
            self.check()
        for name in tuple(self.drained_by_operator):
            self.undrain(name)
        self.recover()

    def recover(self) -> None:
        """Nothing is wrong any more: in the end all is in service again. Looks are rarer, because nothing changes."""
        give_up_ms, self.is_calm = self.now_ms + SETTLED_MS, True
        while not all(map(self.is_well, self.names)):
            assert self.now_ms < give_up_ms, list(self.engine.state.nodes.values())
            self.now_ms += EVERY_MS
            self.step()

    def is_well(self, name: NodeName) -> bool:
        node = self.engine.state.nodes[name]
        return node.state is NodeState.READY and not node.bad_gpus

    def step(self) -> None:
        """Measure, look, and let the jobs go on."""
        self.wrong = {(each.node, each.kind, each.gpu) for each in self.ailments if each.is_on(self.now_ms)}
        for name in self.names:
            self.heartbeat(name)
            if self.is_calm and self.is_well(name):
                continue
            if self.is_calm or (self.now_ms - NOW_MS) % EVERY_MS == self.phase_ms[name]:
                self.measure(name)
        asked, self.asked = self.asked, []
        for name, number in asked:
            code = 0 if not any(each.node == name and each.is_on(self.now_ms) for each in self.ailments) else 1
            self.watch.take(NodeTested(node=name, at_ms=self.now_ms, number=number, exit_code=code))
        self.publisher.begin(self.engine.state)
        self.engine.observe(*self.watch.look(self.publisher.view, self.now_ms))
        self.backend.advance(self.now_ms)
        self.engine.observe(*self.backend.poll())
        self.engine.tick(self.now_ms)
        self.note_seats()

    def heartbeat(self, name: NodeName) -> None:
        is_down = self.engine.state.nodes[name].state is NodeState.DOWN
        if self.of(name, "silent") and not is_down:
            self.engine.observe(NodeUnreachable(at_ms=self.now_ms, node=name, because="silent"))
        elif is_down and not self.of(name, "silent"):
            self.engine.observe(NodeReturned(at_ms=self.now_ms, node=name, because="back"))

    def measure(self, name: NodeName) -> None:
        if self.of(name, "silent"):
            return
        turn = (self.now_ms - NOW_MS) // EVERY_MS
        for gpu in range(GPUS):
            hot = 97 if self.of(name, "hot", gpu) else self.noise(name, f"hot{gpu}", 60 + turn % 20, 96)
            self.tell(name, "gpu_temperature", hot, gpu=gpu)
            slow = turn % 3 < 2 if self.of(name, "throttled", gpu) else self.noise(name, f"slow{gpu}", 0, 1)
            self.tell(name, "gpu_throttled", int(slow), gpu=gpu)
            self.tell(name, "gpu_ecc_corrected", self.count(name, "corrected", gpu, turn % 7 == 0), gpu=gpu)
            self.tell(name, "gpu_ecc_uncorrected", self.count(name, "ecc", gpu, self.of(name, "ecc", gpu)), gpu=gpu)
            self.tell(name, "gpu_lost", int(self.of(name, "lost", gpu)), gpu=gpu)
        down = turn % 2 if self.of(name, "link") else self.noise(name, "link", 0, 1)
        self.tell(name, "nic_down", int(down), nic="eth0")
        self.tell(name, "nic_speed", 10_000 if self.of(name, "slow") else 100_000, nic="eth0")
        said = "bad" if self.of(name, "fabric") else ("ok", "suspect")[self.noise(name, "fabric", 0, 1)]
        self.watch.take(Signal(node=name, at_ms=self.now_ms, signal="custom.fabric", verdict=said))

    def noise(self, name: NodeName, what: str, usual: int, spike: int) -> int:
        """Now and then one value that is too high, and then none for a while."""
        last_ms = self.spiked.get((name, what), 0)
        if not self.is_calm and self.now_ms - last_ms > 13 * EVERY_MS and self.random.random() < 0.02:
            self.spiked[name, what] = self.now_ms
            return spike
        return usual

    def count(self, name: NodeName, what: str, gpu: int, is_more: bool) -> int:
        key = (name, what, gpu)
        self.counts[key] = self.counts.get(key, 0) + is_more
        return self.counts[key]

    def tell(self, name: NodeName, signal: str, value: int, *, gpu: int | None = None, nic: str = "") -> None:
        said = Signal(node=name, at_ms=self.now_ms, signal=signal, value=value, gpu=gpu, nic=nic)
        self.watch.take(self.counters[name].complete(said, is_first_run=True))

    def operate(self) -> None:
        """An operator drains a node, or puts one back."""
        name = self.random.choice(self.names)
        node = self.engine.state.nodes[name]
        if node.state is NodeState.DOWN:
            return
        if node.state.takes_work:
            self.drained_by_operator[name] = None
            drained = evolve(node, state=NodeState.DRAINING)
            self.engine.observe(NodeChanged(at_ms=self.now_ms, node=drained, because="maintenance", by="operator"))
        else:
            self.undrain(name)

    def undrain(self, name: NodeName) -> None:
        node = evolve(self.engine.state.nodes[name], state=NodeState.READY, bad_gpus=())
        self.engine.observe(NodeChanged(at_ms=self.now_ms, node=node, because="trust me", by="operator"))
        self.drained_by_operator.pop(name, None)
        self.overruled_ms[name] = self.now_ms

    def note_seats(self) -> None:
        """Remember which jobs had a worker where something was ever wrong."""
        for job in self.jobs:
            for worker in self.engine.job(job).workers:
                gpus = {each.gpu for each in self.ailments if each.node == worker.node}
                if None in gpus or gpus & {*worker.gpus} or len(gpus) >= GPUS // 2:
                    self.ill_seats[job] = None

    def check(self) -> None:
        """Compare the fleet with the truth."""
        nodes = self.engine.state.nodes
        out = [name for name, by in self.engine.state.set_aside.items() if by == HEALTH]
        assert len(out) <= nodes_out_most(NODES, POLICY), out
        single = sum(len(node.bad_gpus) for node in nodes.values() if node.state.takes_work)
        assert single <= gpus_out_most(tuple(nodes.values()), POLICY)
        for name in self.drained_by_operator:
            assert not nodes[name].state.takes_work
        for node in nodes.values():
            self.check_innocence(node, out)
        away = sum(
            len(node.bad_gpus) for name, node in nodes.items() if node.state is NodeState.DOWN and name not in out
        )
        most = gpus_out_most(tuple(nodes.values()), POLICY)
        is_full = len(out) == nodes_out_most(NODES, POLICY) or single + away >= most
        self.full_ms = self.now_ms if is_full else self.full_ms
        for each in self.ailments:
            self.check_budget(each)
        for job in self.jobs:
            if job not in self.ill_seats:
                assert self.engine.job(job).node_failures == 0, job

    def check_innocence(self, node: Node, out: list[NodeName]) -> None:
        """What was never ill is never taken out."""
        ailing = [each for each in self.ailments if each.node == node.name]
        for gpu in node.bad_gpus:
            assert any(each.gpu == gpu for each in ailing), (node, gpu)
        if not ailing:
            assert node.name not in out, node

    def check_budget(self, ailment: Ailment) -> None:
        """What is ill is out of service in time, unless as much is out as may be, or an operator has overruled it."""
        node = self.engine.state.nodes[ailment.node]
        since_ms = max(ailment.from_ms, self.started_ms)
        is_over = self.now_ms - since_ms > budget_ms(ailment.kind)
        was_silent = any(
            each.kind == "silent" and each.node == node.name and each.until_ms + budget_ms(ailment.kind) > self.now_ms
            for each in self.ailments
        )
        if not ailment.is_on(self.now_ms) or not is_over or not node.state.takes_work or was_silent:
            return
        if ailment.gpu in node.bad_gpus or node.name in self.overruled_ms or ailment.kind == "silent":
            return
        assert self.full_ms >= self.now_ms - 2 * LOOK_MS, (self.seed, ailment, node)
        assert node.state is NodeState.SUSPECT, node
