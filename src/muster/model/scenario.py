"""A whole situation as plain values: what a scenario file describes and what the invariant checker reads."""

from muster.model.ids import TeamPath
from muster.model.job import RunningJob, WaitingJob
from muster.model.machines.reservation import Reservation
from muster.model.node import ClusterSpec
from muster.model.plan import Promise
from muster.model.policy import DEFAULT_TIERS, AdmissionRule, Policy, Pool, Profile, Tier
from muster.model.records import Record
from muster.model.team import Team


class Rules(Record, frozen=True, kw_only=True):
    """What an operator may change while everything runs."""

    teams: tuple[Team, ...] = ()
    """Empty: every team exists, without a guarantee and without a limit."""
    tiers: tuple[Tier, ...] = DEFAULT_TIERS
    pools: tuple[Pool, ...] = ()
    """Empty: all nodes are in pools that admit every job."""
    policy: Policy = Policy()
    admission: tuple[AdmissionRule, ...] = ()
    """In the order in which they are judged. They are asked when a job is submitted, and never again."""
    profiles: tuple[Profile, ...] = ()
    """What a job file may name in `profile`."""


class Scenario(Record, frozen=True, kw_only=True):
    """A cluster, its rules, what runs and what waits, at one instant."""

    now_ms: int
    cluster: ClusterSpec
    pools: tuple[Pool, ...] = ()
    """Empty: all nodes are in pools that admit every job."""
    teams: tuple[Team, ...] = ()
    """Empty: every team exists, without a guarantee and without a limit."""
    tiers: tuple[Tier, ...] = DEFAULT_TIERS
    policy: Policy = Policy()
    usage: tuple[tuple[TeamPath, int], ...] = ()
    """Decayed GPU-milliseconds (of whole GPUs) per team so far."""
    recent_preemptions: tuple[tuple[TeamPath, int], ...] = ()
    """How many jobs of each team were told to leave in the last hour."""
    turn_ms: int | None = None
    """How long a job runs before it leaves for an older job that has had about as much. None: jobs take no turns."""
    running: tuple[RunningJob, ...] = ()
    waiting: tuple[WaitingJob, ...] = ()
    promises: tuple[Promise, ...] = ()
    """Promises made in earlier cycles."""
    reservations: tuple[Reservation, ...] = ()
    """Nodes that are set aside for a while, by the names of the reservations."""
