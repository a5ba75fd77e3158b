"""The ports of the API in memory: tokens, audit, event pages, logs and terminals that a test can look into."""

from collections.abc import Iterable, Sequence
from queue import Queue
from threading import Lock

from muster.backends.base import Beside, OutputPart
from muster.backends.fake import FakeBackend
from muster.model.access import Token
from muster.model.array import JobRecord
from muster.model.audit import AuditEntry
from muster.model.errors import Conflict, NotFound, Unavailable
from muster.model.events import Event
from muster.model.ids import JobId, TokenId
from muster.model.records import evolve
from muster.store.base import EVERYTHING, AuditFilter, AuditHead, AuditRecord, AuditVerdict
from muster.store.memory import MemoryLog
from muster.token_store import Account, made_with, unaccounted


class Tokens:
    def __init__(self, store: "Store") -> None:
        self._store = store
        self._tokens: dict[TokenId, Token] = {}
        self.asked = 0

    def add(self, token: Token, *, audit: Sequence[AuditEntry] = ()) -> None:
        if token.id in self._tokens:
            raise Conflict(f"there is a token {token.id}")
        self._tokens[token.id] = token
        self._store.audit.extend(audit)

    def find(self, digest: str) -> Token | None:
        self.asked += 1
        return next((token for token in self._tokens.values() if token.digest == digest), None)

    def all(self) -> Sequence[Token]:
        return tuple(self._tokens.values())

    def revoke(self, token: TokenId, at_ms: int, *, audit: Account = unaccounted) -> Sequence[Token]:
        tree = made_with(token, self.all())
        if not tree:
            raise NotFound(f"there is no token {token}")
        for each in tree:
            if each.revoked_ms is None:
                self._tokens[each.id] = evolve(each, revoked_ms=at_ms)
        self._store.audit.extend(audit(tree))
        return [self._tokens[each.id] for each in tree]


class Store(MemoryLog):
    """Events and audit."""

    def __init__(self) -> None:
        super().__init__()
        self.audit: list[AuditEntry] = []
        self.is_full = False

    def append(
        self,
        events: Sequence[Event],
        expected_version: int,
        *,
        jobs: Sequence[JobRecord] = (),
        audit: Sequence[AuditEntry] = (),
    ) -> int:
        if self.is_full:
            raise Unavailable("the disk is full")
        version = super().append(events, expected_version, jobs=jobs, audit=audit)
        self.audit.extend(audit)
        return version


class Audit:
    def __init__(self, store: Store) -> None:
        self._store = store

    def entries(self, after_seq: int, limit: int, filters: AuditFilter = EVERYTHING) -> Sequence[AuditRecord]:
        return [each for each in self._all(filters) if each.seq > after_seq][:limit]

    def latest(self, before_seq: int | None, limit: int, filters: AuditFilter = EVERYTHING) -> Sequence[AuditRecord]:
        found = reversed(self._all(filters))
        return [each for each in found if before_seq is None or each.seq < before_seq][:limit]

    def _all(self, filters: AuditFilter) -> list[AuditRecord]:
        found = enumerate(list(self._store.audit), start=1)
        wanted = [(seq, entry) for seq, entry in found if filters.by in (None, entry.by)]
        return [AuditRecord(seq=seq, entry=entry, version=0, chain="00") for seq, entry in wanted]

    def head(self) -> AuditHead:
        seq = len(self._store.audit)
        return AuditHead(seq=seq, chain=f"{seq:064x}")

    def chain_at(self, seq: int) -> str | None:
        return f"{seq:064x}" if seq <= len(self._store.audit) else None

    def verify(self) -> AuditVerdict:
        return AuditVerdict(entries=len(self._store.audit), events=self._store.version)


class Logs:
    """What workers printed, by (job, attempt, rank)."""

    def __init__(self) -> None:
        self._printed: dict[tuple[str, int, int], bytes] = {}
        self._gone: set[tuple[str, int, int]] = set()
        self._lock = Lock()

    def print(self, data: bytes, *, job: str, attempt: int = 1, rank: int = 0, is_last: bool = False) -> None:
        with self._lock:
            key = (job, attempt, rank)
            self._printed[key] = self._printed.get(key, b"") + data
            if is_last:
                self._gone.add(key)

    def read(self, job: JobId, attempt: int, rank: int, offset: int, limit: int) -> OutputPart:
        with self._lock:
            key = (job, attempt, rank)
            if key not in self._printed:
                raise NotFound(f"{job} has no worker {rank} in attempt {attempt}")
            text = self._printed[key]
            start = min(offset, len(text)) if offset >= 0 else max(len(text) + offset, 0)
            data = text[start : start + limit]
            end = start + len(data)
            return OutputPart(start=start, data=data, end=end, is_complete=key in self._gone and end == len(text))


class Sitting:
    """An attached terminal that repeats what is typed in capitals."""

    def __init__(self) -> None:
        self._shown: Queue[bytes] = Queue()
        self.sizes: list[tuple[int, int]] = []
        self.is_open = True
        self.over = ""
        self.exit_code: int | None = None
        self.has_all_input = False

    def show(self, data: bytes) -> None:
        self._shown.put(data)

    def read(self) -> bytes:
        return self._shown.get()

    def type(self, data: bytes) -> None:
        self._shown.put(data.upper())
        if data == b"exit\n":
            self._shown.put(b"")

    def end_input(self) -> None:
        self.has_all_input = True
        self._shown.put(b"")

    def resize(self, rows: int, columns: int) -> None:
        self.sizes.append((rows, columns))

    def close(self) -> None:
        self.is_open = False
        self._shown.put(b"")


class Terminals:
    def __init__(self, jobs: Iterable[str] = ()) -> None:
        self.jobs = list(jobs)
        self.sittings: list[Sitting] = []
        self.beside: list[Beside] = []

    def attach(self, job: JobId, beside: Beside | None = None) -> Sitting:
        if job not in self.jobs and beside is None:
            raise NotFound(f"{job} has no terminal")
        self.sittings.append(Sitting())
        if beside is not None:
            self.beside.append(beside)
            self.sittings[-1].exit_code = 7
        return self.sittings[-1]


class WatchedBackend(FakeBackend):
    """Pretends that workers print and sit at terminals."""

    def __init__(self, *, now_ms: int) -> None:
        super().__init__(now_ms=now_ms)
        self.logs, self.terminals = Logs(), Terminals()
        self.shown_stacks: dict[str, dict[int, str]] = {}

    def read_output(self, job: JobId, attempt: int, rank: int, offset: int, limit: int) -> OutputPart:
        return self.logs.read(job, attempt, rank, offset, limit)

    def stacks(self, job: JobId, timeout_s: float) -> dict[int, str]:
        return self.shown_stacks[job] if job in self.shown_stacks else super().stacks(job, timeout_s)

    def attach(self, job: JobId, beside: Beside | None = None) -> Sitting:
        return self.terminals.attach(job, beside)
