"""The lease by which one of several control planes on a database leads: who holds it, and how often it was renewed."""

from muster.model.records import Record

LEASE_MS = 5_000
"""A leader that has not renewed its lease for this long may be replaced. Long enough for a busy machine, a short break
of the network or a restart of the database; short enough that another leads within 15 seconds."""

LEASE_RENEW_MS = 1_000
"""How often the leader renews its lease: three renewals may fail in a row."""

LEASE_ANSWER_MS = 2_000
"""How long a renewal may take. After that its connection is given up, and another tries."""

LEASE_MARGIN_MS = 1_000
"""How much earlier the leader itself counts the lease as over: clocks do not run exactly as fast as each other."""

STANDBY_LOOK_MS = 500
"""How often a standby reads what is new in the log and looks at the lease."""

HEIR_MS = 5_000
"""How long a lease that was handed over is kept for the control plane that asked for it."""


class LeaseHolder(Record, frozen=True, kw_only=True):
    """A control plane that leads or wants to."""

    id: str
    """Random, so that a process that starts again is another holder."""
    url: str
    """Where the others send what only the leader may do."""
    machine: str = ""
    host: str = ""
    pid: int = 0
    start_ticks: int = 0
    """With the pid, names one process of the machine."""
    muster: str = ""
    """The version of Muster that it runs."""


class LeaseRecord(Record, frozen=True, kw_only=True):
    """The lease as the database has it."""

    epoch: int = 0
    """Counts the leaderships. It is the epoch that nodes see, and that every write is checked against."""
    beat: int = 0
    """Changes with every renewal. Others judge by it, so that no two clocks are ever compared."""
    holder: LeaseHolder | None = None
    """None when it was given up, and before the first leader."""
    wanted_by: str = ""
    """The id of a control plane that asked the leader to hand over."""
