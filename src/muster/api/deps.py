"""What the routes depend on: the ports of one control plane, put together by `main`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from muster.api.front.hosts import AllowedHosts
from muster.api.problems.concealing import Concealing
from muster.backends.agents.mirrored_files import MirroredFiles
from muster.backends.agents.switchboard import Switchboard
from muster.backends.base import LiveBackend
from muster.core.health import HealthPolicy
from muster.live.clock import Clock
from muster.live.leadership.reading import Readable
from muster.live.publishing.metrics import Metrics
from muster.live.watching.health_watch import HealthWatch
from muster.live.watching.progress_watch import JobProgress
from muster.model.client_limits import BODY_BYTES, JOB_BODY_BYTES, REQUESTS_AT_ONCE, REQUESTS_PER_S, STRANGERS_AT_ONCE
from muster.model.ids import JobId, NodeName
from muster.model.limits import HEARTBEAT_S, LOG_POLL_S, SEND_S, STREAM_S, WATCHERS
from muster.store.base import AuditTrail, EventPages, JobArchive
from muster.token_store import TokenStore


class Audience(StrEnum):
    """Who may read the metrics without a token."""

    LOOPBACK = "loopback"
    TOKEN = "token"
    OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What an operator or a test may choose."""

    hosts: AllowedHosts = AllowedHosts()
    conceal: Concealing = Concealing()
    metrics: Audience = Audience.LOOPBACK
    job_body_bytes: int = JOB_BODY_BYTES
    body_bytes: int = BODY_BYTES
    requests_per_s: int = REQUESTS_PER_S
    requests_at_once: int = REQUESTS_AT_ONCE
    strangers_at_once: int = STRANGERS_AT_ONCE
    watchers: int = WATCHERS
    heartbeat_s: float = HEARTBEAT_S
    stream_s: float = STREAM_S
    send_s: float = SEND_S
    log_poll_s: float = LOG_POLL_S


def _nothing(*_: object) -> None:
    """Nothing is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agents:
    """What agents of nodes on other machines connect to."""

    switchboard: Switchboard
    files: MirroredFiles
    expects: Callable[[NodeName], bool]
    """Whether a node of the cluster has an agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deps:
    """Everything that the API calls."""

    control: Readable
    """The control plane, which leads or stands by."""
    stands_by: bool = False
    """True when what only the leader can do is passed on to it."""
    certificate: Path | None = None
    """The certificate of this server, which is trusted as the leader's too."""
    tokens: TokenStore
    audit: AuditTrail
    events: EventPages
    jobs: JobArchive
    backend: LiveBackend
    clock: Clock
    metrics: Metrics = field(default_factory=Metrics)
    progress: Callable[[JobId], JobProgress | None] = _nothing
    """How far a training is, as far as its ranks report it."""
    last_output_ms: Callable[[JobId], int | None] = _nothing
    """When a running job that reports no steps last printed anything."""
    kept_stacks: Callable[[JobId, int], Mapping[int, str] | None] = _nothing
    """The stacks that were captured when an attempt of a job stood still."""
    health: HealthWatch = field(default_factory=lambda: HealthWatch(HealthPolicy(), now_ms=0))
    job_key: bytes = b""
    """What the tokens of attempts are derived from; empty when jobs have none."""
    simulator: tuple[str, ...] = ()
    """The command of a process that answers what-if questions; empty where there is none."""
    bundles: Path | None = None
    """The folder of working directories that are sent along with jobs; None when none are taken."""
    kept_estimates: Path | None = None
    """The file in which start estimates and their outcomes outlive a restart."""
    agents: Agents | None = None
    """None where all nodes are this machine."""
    settings: Settings = Settings()
