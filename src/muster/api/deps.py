"""What the routes stand on: the ports of one control plane, put together by `main`."""

from dataclasses import dataclass, field

from muster.api.ports import LogSource, Terminals
from muster.live.clock import Clock
from muster.live.control_plane import ControlPlane
from muster.live.metrics import Metrics
from muster.model.limits import BODY_BYTES, HEARTBEAT_S, LOG_POLL_S, SEND_S, STREAM_S, WATCHERS
from muster.store.base import AuditTrail, EventPages
from muster.token_store import TokenStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What an operator or a test may choose."""

    body_bytes: int = BODY_BYTES
    watchers: int = WATCHERS
    heartbeat_s: float = HEARTBEAT_S
    stream_s: float = STREAM_S
    send_s: float = SEND_S
    log_poll_s: float = LOG_POLL_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Deps:
    """Everything that the API calls."""

    control: ControlPlane
    tokens: TokenStore
    audit: AuditTrail
    events: EventPages
    logs: LogSource
    terminals: Terminals
    clock: Clock
    metrics: Metrics = field(default_factory=Metrics)
    settings: Settings = Settings()
