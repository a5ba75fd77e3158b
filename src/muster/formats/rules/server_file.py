"""`muster.toml` -> what `muster up` is to serve, and by which rules.

The tables `cluster`, `teams`, `tiers`, `pools` and `policy` are written as in a scenario. `admission` holds the rules
that jobs pass before they enter the queue, and `profiles` what jobs may name. `server` says where and how to listen,
`local` how this machine is used if no cluster is described, `health` how nodes are measured and judged, and
`containers` how they run images. What is left out is as without a file, with one exception. A team may use the highest
tier, and may have jobs that are not preemptible, only if the file allows it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator

from muster.formats.admission.profiles import profiles_part
from muster.formats.admission.rules import admission_part
from muster.formats.parts.kinds import Text, text
from muster.formats.parts.wire import Wire, read_part
from muster.formats.rules.cluster_file import cluster_from_text
from muster.formats.rules.configured_cluster import CLUSTER, ConfiguredCluster, find_configured_cluster
from muster.formats.rules.container_rules import ContainerRules, ContainersWire, container_rules
from muster.formats.rules.engine_table import check_engines, read_engines
from muster.formats.rules.engines.entry import EngineSettings
from muster.formats.scenarios.references import read_references, team_at
from muster.formats.text.document import Document, Problems, read_settings
from muster.formats.text.units import BadValue, duration_ms, duration_text, milli, shown
from muster.model.client_limits import ALLOWED_HOSTS, CONTROL_PLANES, HOST_CHARS
from muster.model.closed_rules import beyond_those_above, closed
from muster.model.errors import InvalidInput
from muster.model.ids import EngineName
from muster.model.node_limits import MAX_DRAINED_MILLI, PROBE_EVERY_LEAST_MS, PROBE_EVERY_MOST_MS, PROBE_EVERY_MS
from muster.model.scenario import Rules

_HOST_NAME = re.compile(r"[a-z0-9_.-]+|\*|[0-9a-f:]+")
RULES = ("teams", "tiers", "pools", "policy", "admission", "profiles")
"""The tables that say how the scheduler decides. The others say what it runs on."""


def host_name(value: object) -> str:
    """A name that people write into a browser, without port and scheme. `*` means any."""
    name = text(value).lower()
    if not name or len(name) > HOST_CHARS or not _HOST_NAME.fullmatch(name):
        raise BadValue(f"{shown(value)} is not the name of a host", "such as muster.example.org, without a port")
    return name


HostName = Annotated[str, PlainValidator(host_name)]

_ADDRESS = re.compile(r"https?://[^/?#\s@,]+")


def server_address(value: object) -> str:
    """The address of a control plane, with its scheme and without a path."""
    address = text(value).rstrip("/")
    if not _ADDRESS.fullmatch(address):
        raise BadValue(f"{shown(value)} is not the address of a server", "such as https://a.example.org:8470")
    return address


ServerAddress = Annotated[str, PlainValidator(server_address)]


class ServerWire(Wire):
    """Where and how to listen, and where to keep things."""

    host: Text | None = None
    """The address to listen on. Left out: this machine only, 127.0.0.1. Others need TLS or `insecure_bind`."""
    port: Annotated[int, Field(ge=0, le=65535)] | None = None
    """The port; 0 takes any that is free. Left out: 8470."""
    database: Text | None = None
    """`postgresql://…`, perhaps with a password. Left out: `MUSTER_DATABASE`, or a file under `--home`."""
    urls: Annotated[list[ServerAddress], Field(max_length=CONTROL_PLANES)] = Field(default_factory=list)
    """The addresses of all control planes on this database, for jobs and for each other."""
    tls_certificate: Text | None = None
    """A certificate with its chain, in PEM, beside this file unless it is absolute."""
    tls_key: Text | None = None
    """Its private key."""
    insecure_bind: bool = False
    """Listen to the network without TLS, because a proxy in front of it speaks TLS."""
    allowed_hosts: Annotated[list[HostName], Field(max_length=ALLOWED_HOSTS)] = Field(default_factory=list)
    """Names that the server answers to besides its own, without ports."""
    metrics: Literal["loopback", "token", "open"] = "loopback"
    """Who may read `/metrics` without a token: this machine, nobody, or everybody."""


class LocalWire(Wire):
    """How this machine is used."""

    nodes: Text | None = None
    """`4x8`: four virtual nodes with eight GPU slots each. The short form; `[cluster]` describes nodes one by one."""


def share_milli(value: object) -> int:
    """A share above zero and of at most one, in thousandths."""
    share = milli(value)
    if not 0 < share <= 1000:
        raise BadValue(f"{shown(value)} is not a share", "above 0 and at most 1, such as 0.2")
    return share


def probe_every_ms(value: object) -> int:
    """How often something is measured."""
    every_ms = duration_ms(value)
    if not PROBE_EVERY_LEAST_MS <= every_ms <= PROBE_EVERY_MOST_MS:
        least, most = duration_text(PROBE_EVERY_LEAST_MS), duration_text(PROBE_EVERY_MOST_MS)
        raise BadValue(f"{shown(value)} is too often or too rare", f"from {least} to {most}")
    return every_ms


class HealthWire(Wire):
    """How nodes are measured and judged."""

    command: Text | None = None
    """Run on every node beside the built-in probes; prints signals as JSON lines."""
    every: Annotated[int, PlainValidator(probe_every_ms)] = PROBE_EVERY_MS
    """How often nodes are measured."""
    max_drained: Annotated[int, PlainValidator(share_milli)] = MAX_DRAINED_MILLI
    """Share of a pool that verdicts may take out at once, rounded down, at least one node."""
    test: Text | None = None
    """Run before a drained node returns; exit code 0 is healthy."""


class ServerFileWire(Wire):
    """A whole configuration file as it is written."""

    server: ServerWire = ServerWire()
    local: LocalWire = LocalWire()
    health: HealthWire = HealthWire()
    containers: ContainersWire = ContainersWire()
    engines: Any = None
    cluster: Any = None
    teams: Any = None
    tiers: Any = None
    pools: Any = None
    policy: Any = None
    admission: Any = None
    profiles: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthSettings:
    """How nodes are measured and judged."""

    command: str = ""
    """Run on every node beside the built-in probes; prints signals."""
    every_ms: int = PROBE_EVERY_MS
    max_drained_milli: int = MAX_DRAINED_MILLI
    """Share of a pool that may be out of service by verdicts at once, in thousandths."""
    test: str = ""
    """Run on a drained node before it returns."""
    folder: Path = Path("/")
    """Where both run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """What a configuration file asks for. None means that it does not say."""

    host: str | None = None
    port: int | None = None
    database: str | None = None
    urls: tuple[str, ...] = ()
    """The addresses of all control planes on the database."""
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    insecure_bind: bool = False
    allowed_hosts: tuple[str, ...] = ()
    """Names that the server answers to besides its own."""
    metrics: str = "loopback"
    """Who may read the figures without a token."""
    nodes: str | None = None
    cluster: ConfiguredCluster | None = None
    """The nodes, if the file describes them one by one."""
    engines: tuple[EngineSettings, ...] = ()
    health: HealthSettings = HealthSettings()
    containers: ContainerRules = ContainerRules()
    engine_containers: Mapping[EngineName, ContainerRules] = field(default_factory=dict)
    """Of engines whose nodes run images in their own way."""
    rules: Rules | None = None
    parts: Mapping[str, object] = field(default_factory=dict)
    """The tables with rules as they are written, in plain values."""


def read_server_file(source: str | Path) -> ServerSettings:
    """The settings in a file: TOML, or YAML by its suffix."""
    path = Path(source)
    document = read_settings(path)
    problems = Problems(document)
    folder = path.resolve().parent
    wire = read_part(ServerFileWire, document.value, problems, ())
    cluster = find_configured_cluster(document, folder, problems, RULES)
    if wire is not None and wire.local.nodes is not None:
        _check_nodes(wire.local.nodes, problems)
        if cluster is not None:
            problems.add(("local", "nodes"), "the nodes are described in [cluster] already", "give one of the two")
    if wire is not None and (wire.server.tls_certificate is None) != (wire.server.tls_key is None):
        problems.add(("server",), "tls_certificate and tls_key belong together", "give both or neither")
    engines = read_engines(None if wire is None else wire.engines, problems)
    check_engines(engines, None if cluster is None else cluster.spec, problems)
    parts = _parts(document)
    rules = read_rules(parts, cluster, problems)
    problems.stop_if_any()
    assert wire is not None  # It is missing only after a problem was noted.
    return ServerSettings(
        host=wire.server.host,
        port=wire.server.port,
        database=wire.server.database,
        urls=tuple(wire.server.urls),
        tls_certificate=_beside(folder, wire.server.tls_certificate),
        tls_key=_beside(folder, wire.server.tls_key),
        insecure_bind=wire.server.insecure_bind,
        allowed_hosts=tuple(wire.server.allowed_hosts),
        metrics=wire.server.metrics,
        nodes=wire.local.nodes,
        cluster=cluster,
        engines=tuple(engine.settings(folder) for engine in engines),
        health=HealthSettings(
            command=wire.health.command or "",
            every_ms=wire.health.every,
            max_drained_milli=wire.health.max_drained,
            test=wire.health.test or "",
            folder=folder if wire.health.command or wire.health.test else Path("/"),
        ),
        containers=container_rules(wire.containers),
        engine_containers={
            EngineName(each.name): container_rules(each.containers) for each in engines if each.containers is not None
        },
        rules=rules,
        parts=parts,
    )


def _parts(document: Document) -> dict[str, object]:
    """The tables of a file that are rules."""
    value = document.value if isinstance(document.value, dict) else {}
    return {key: value[key] for key in RULES if value.get(key) is not None}


def read_rules(parts: Mapping[str, object], cluster: ConfiguredCluster | None, problems: Problems) -> Rules | None:
    """The rules that these tables say, if there are any. What is wrong with them is noted.

    A problem of the cluster itself has been noted before, so it is not looked at again.
    """
    if not parts:
        return None
    nodes = {} if cluster is None or problems.count else {CLUSTER: cluster.document}
    references = read_references({**parts, **nodes}, problems)
    rules = closed(
        Rules(
            teams=references.teams,
            tiers=references.tiers,
            pools=references.pools,
            policy=references.policy,
            admission=admission_part(parts.get("admission", []), problems, ("admission",)),
            profiles=profiles_part(parts.get("profiles", {}), problems, ("profiles",)),
        )
    )
    for team in rules.teams:
        if (beyond := beyond_those_above(team, rules.teams)) is not None:
            problems.add(
                (*team_at(team.path), beyond[0]), beyond[1], "give the team above it as much, or this one less"
            )
    return rules


def _check_nodes(size: str, problems: Problems) -> None:
    try:
        cluster_from_text(size)
    except InvalidInput as error:
        problems.add(("local", "nodes"), str(error))


def _beside(folder: Path, name: str | None) -> Path | None:
    """The path of a file that the configuration names, relative to the folder of the configuration."""
    return None if name is None else folder / name
