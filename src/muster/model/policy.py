"""What an operator configures: tiers, pools, the policy, and what jobs pass before they enter the queue.

It is data, so that it can be tried first: the policy in simulation, admission rules on the jobs of the past. What a
file writes as a mapping of keys of a job file is kept as JSON text, so that records stay values.
"""

from enum import StrEnum

from muster.model.ids import GpuType, PoolName, TeamPath, TierName
from muster.model.records import Record

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


class Tier(Record, frozen=True, kw_only=True):
    """A level of urgency. Tiers are ranked by their place in the list, most urgent first."""

    name: TierName
    preempts: bool = False
    """Its jobs may take the place of preemptible jobs in tiers below."""
    preemptible: bool = True
    max_duration_ms: int = 7 * DAY_MS
    """For jobs that do not state a maximum duration."""


DEFAULT_TIERS = (
    Tier(name=TierName("production"), preempts=True, preemptible=False),
    Tier(name=TierName("standard"), preempts=True),
    Tier(name=TierName("exploratory")),
)


class Pool(Record, frozen=True, kw_only=True):
    """A part of the cluster with its own admission rules."""

    name: PoolName
    tiers: tuple[TierName, ...] = ()
    """Empty admits every tier."""
    teams: tuple[TeamPath, ...] = ()
    """Empty admits every team. A listed team admits its sub-teams too."""
    spot: bool = False
    """May be taken away at any time, so only jobs that can resume go there."""
    price_milli: int = 1000
    """Relative price of a GPU hour in thousandths. Ties are broken towards the cheaper pool."""

    @property
    def is_reserved(self) -> bool:
        """True when it is kept for some tiers. Reserved pools are used after open pools."""
        return bool(self.tiers)

    def admits(self, *, tier: TierName, team: TeamPath, can_resume: bool) -> bool:
        """True when a job of this tier and team may run here."""
        if self.spot and not can_resume:
            return False
        if self.tiers and tier not in self.tiers:
            return False
        return not self.teams or any(team == own or team.startswith(own + "/") for own in self.teams)


class Order(StrEnum):
    """Which job goes first inside a tier."""

    FAIR = "fair"
    """Teams below their guarantee, then fair share, then aged priority, then submission."""
    FIFO = "fifo"
    """Aged priority, then submission, whatever the team."""
    SHORTEST = "shortest"
    """As fair, with the least predicted GPU time first among jobs of one team and priority."""
    LEAST_ATTAINED = "las"
    """As fair, with the least GPU time received so far first among jobs of one team and priority."""


class Packing(StrEnum):
    """Which of the nodes with room a worker gets."""

    LEAST_HARM = "least_harm"
    """The node where it does the least harm to the jobs that wait now and to the jobs that usually come."""
    BEST_FIT = "best_fit"
    """The node that it fills most. A gang of equal workers that is too large for one node gets empty nodes. Other
    schedulers do this; it is here for comparisons with them."""


class Policy(Record, frozen=True, kw_only=True):
    """How the scheduler decides. The defaults are those of the live system."""

    order: Order = Order.FAIR
    packing: Packing = Packing.LEAST_HARM
    fair_share: bool = True
    """False: teams do not count, whatever the order. The baseline policies for comparisons do this."""
    backfill: bool = True
    """False: nothing starts in front of a blocked job of its tier or above."""
    hold_depth: int = 4
    """How many blocked jobs of each tier get a promised start."""
    starvation_limit_ms: int = DAY_MS
    """A job that has waited longer gets a promise whatever the depth."""
    ageing_ms: int = HOUR_MS
    """How much more waiting time makes up for one point of priority."""
    half_life_ms: int = 7 * DAY_MS
    """Half-life of the usage that fair share remembers."""
    preemption: bool = True
    turns: bool = True
    """A job that can resume leaves for a job of its tier that has had less GPU time, in bands, or is older in its
    band (`core.order.service`)."""
    min_runtime_ms: int = 10 * MINUTE_MS
    """A job is not preempted before it has run this long. By a job of its own tier all its attempts count together."""
    preemptions_per_team_hour: int = 120
    """How many jobs of one team may be told to leave in an hour."""
    restart_cost_ms: int = 5 * MINUTE_MS
    """What stopping and starting a job costs each of its GPUs."""
    stop_grace_ms: int = 30_000
    """How long a job that cannot save itself gets to leave."""
    consolidation: bool = True
    """Move jobs that can resume when only fragmentation blocks a gang."""
    consolidation_gain_milli: int = 2000
    """A move must save this many times its cost, in thousandths."""
    elastic: bool = True
    spares: int = 0
    """How many whole nodes are kept free, so that a job that loses a node finds a replacement at once."""
    throughput: tuple[tuple[GpuType, int], ...] = ()
    """Relative speed per GPU type in thousandths, for jobs that do not state it. Types not named have 1000."""

    @property
    def takes_turns(self) -> bool:
        """True when jobs whose turn is over give way to jobs that have not had their turn."""
        return self.turns and self.preemption

    @property
    def moves_jobs(self) -> bool:
        """True when a running job may be told to leave, to move or to change its size."""
        return self.preemption or self.consolidation or self.elastic

    @property
    def is_strict(self) -> bool:
        """True when a plan only starts jobs, in one fixed order, and no job passes a blocked job."""
        return not (self.backfill or self.weighs_teams or self.moves_jobs or self.hold_depth)

    @property
    def weighs_teams(self) -> bool:
        """True when guarantees and fair share come before a job's own order key."""
        return self.fair_share and self.order is not Order.FIFO


PLUGIN_LIMIT_MS = 1_000
"""How long a plug-in may take for one job unless its rule says otherwise."""


class OnError(StrEnum):
    """What becomes of a job when a rule cannot be judged."""

    DENY = "deny"
    """It is refused: the rule fails closed."""
    ALLOW = "allow"
    """It goes on as if the rule had nothing to say, with a warning: the rule fails open."""


class AdmissionRule(Record, frozen=True, kw_only=True):
    """One rule: for which jobs it is, and one thing that it does with them."""

    name: str
    when: str = ""
    """An expression in CEL; empty means every job."""
    deny: str = ""
    """The message with which the job is refused."""
    warn: str = ""
    """The message with which it is admitted."""
    values: str = ""
    """Keys of the job file that the rule gives the job, as JSON."""
    override: bool = False
    """Whether these keys replace what the job says itself."""
    require_tags: tuple[str, ...] = ()
    """Tags without which the job is refused."""
    plugin: str = ""
    """The name of a function of another package that decides."""
    time_limit_ms: int = PLUGIN_LIMIT_MS
    """How long that may take."""
    on_error: OnError = OnError.DENY


class Profile(Record, frozen=True, kw_only=True):
    """Keys of a job file under a name, for jobs that give that name."""

    name: str
    values: str = "{}"
    """As JSON."""


class EffectKind(StrEnum):
    """What a rule did to a job that was admitted."""

    SET = "set"
    WARN = "warn"


class RuleEffect(Record, frozen=True, kw_only=True):
    """What one rule did to a job that was admitted."""

    rule: str
    kind: EffectKind
    message: str = ""
    """What it warned of."""
    keys: tuple[str, ...] = ()
    """The keys that it set, such as `checkpoint.every`."""
