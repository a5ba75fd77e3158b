"""`muster.toml`: what it may say, and what a user is told when it is wrong."""

import tomllib
from pathlib import Path

import pytest
import yaml

from muster.formats.rules.container_rules import ContainerRules
from muster.formats.rules.server_file import HealthSettings, ServerSettings, read_server_file
from muster.formats.scenarios.scenario_file import scenario_from_document
from muster.formats.text.document import Document, InvalidDocument
from muster.model.errors import MusterError

FULL = """
[server]
host = "0.0.0.0"
port = 7000
database = "postgresql://muster@db/muster"
tls_certificate = "server.crt"
tls_key = "/etc/muster/server.key"
allowed_hosts = ["Muster.example.org", "10.0.0.7", "fd00::1"]
metrics = "token"

[local]
nodes = "4x8"

[teams.nlp]
guaranteed = {h100 = 16}
teams.eval = {weight = 2}

[[tiers]]
name = "urgent"
preempts = true

[[tiers]]
name = "normal"

[pools.main]
tiers = ["urgent"]

[policy]
min_runtime = "1m"
"""


def written(folder: Path, text: str, name: str = "muster.toml") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_a_whole_file(tmp_path: Path) -> None:
    settings = read_server_file(written(tmp_path, FULL))
    assert (settings.host, settings.port, settings.nodes) == ("0.0.0.0", 7000, "4x8")
    assert settings.database == "postgresql://muster@db/muster"
    assert settings.tls_certificate == tmp_path / "server.crt"
    assert settings.tls_key == Path("/etc/muster/server.key")
    assert settings.allowed_hosts == ("muster.example.org", "10.0.0.7", "fd00::1")
    assert settings.metrics == "token"
    assert settings.rules is not None
    assert [team.path for team in settings.rules.teams] == ["nlp", "nlp/eval"]
    assert [tier.name for tier in settings.rules.tiers] == ["urgent", "normal"]
    assert settings.rules.policy.min_runtime_ms == 60_000


def test_teams_may_not_what_the_file_does_not_allow_them(tmp_path: Path) -> None:
    settings = read_server_file(written(tmp_path, FULL))
    assert settings.rules is not None
    assert [(team.tiers, team.allow_unpreemptible) for team in settings.rules.teams] == [(("normal",), False)] * 2
    text = FULL.replace("guaranteed =", 'tiers = ["urgent", "normal"]\nmax_priority = 60\nguaranteed =')
    allowed = read_server_file(written(tmp_path, text)).rules
    assert allowed is not None
    assert [(team.tiers, team.max_priority) for team in allowed.teams] == [
        (("urgent", "normal"), 60),
        (("normal",), None),
    ]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("tiers", '["urgent"]', "teams.nlp.teams.eval.tiers: team 'nlp/eval' may use tier 'urgent'"),
        ("tiers", '["gold"]', "teams.nlp.teams.eval.tiers: there is no tier 'gold'"),
        ("allow_unpreemptible", "true", "teams.nlp.teams.eval.allow_unpreemptible: team 'nlp/eval' allows it"),
        ("max_priority", "101", "teams.nlp.teams.eval.max_priority"),
    ],
)
def test_a_team_is_given_no_more_than_those_above_it(tmp_path: Path, key: str, value: str, message: str) -> None:
    text = FULL.replace("{weight = 2}", f"{{weight = 2, {key} = {value}}}")
    with pytest.raises(InvalidDocument) as caught:
        read_server_file(written(tmp_path, text))
    assert message in str(caught.value)


def test_a_file_that_says_nothing_changes_nothing(tmp_path: Path) -> None:
    assert read_server_file(written(tmp_path, "")) == ServerSettings()


def test_yaml_is_read_too(tmp_path: Path) -> None:
    path = written(tmp_path, "local: {nodes: 2x4}\npolicy: {backfill: false}\n", "muster.yaml")
    settings = read_server_file(path)
    assert settings.nodes == "2x4"
    assert settings.rules is not None
    assert not settings.rules.policy.backfill


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[server]\nprot = 1", "server.prot: unknown key .*did you mean 'port'"),
        ("[server]\nport = 70000", "server.port"),
        ("[local]\nnodes = '4by8'", "local.nodes: .*nodes x GPUs"),
        ("[server]\ntls_key = 'k'", "server: tls_certificate and tls_key belong together"),
        ("[server]\nport = = 1", "not TOML: .*line 2"),
        ("[policy]\norder = 'best'", "policy.order"),
        ("[server]\nallowed_hosts = ['https://x.example']", r"server.allowed_hosts\[0\]: .*not the name of a host"),
        ("[server]\nallowed_hosts = 'x.example'", "server.allowed_hosts: must be a list"),
        ("[server]\nmetrics = 'public'", "server.metrics: must be one of loopback, token, open"),
        ("[pools.main]\ntiers = ['nobody']", "there is no tier 'nobody'"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InvalidDocument, match=problem):
        read_server_file(written(tmp_path, text))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidDocument, match="there is no such file"):
        read_server_file(tmp_path / "muster.toml")


def test_health_is_read_with_its_folder_and_has_defaults(tmp_path: Path) -> None:
    path = tmp_path / "muster.toml"
    path.write_text('[health]\ncommand = "check-node"\nevery = "5s"\nmax_drained = 0.5\ntest = "burn-in"\n')
    read = read_server_file(path).health
    assert (read.command, read.every_ms, read.max_drained_milli, read.test) == ("check-node", 5_000, 500, "burn-in")
    assert read.folder == tmp_path
    path.write_text("")
    assert read_server_file(path).health == HealthSettings()


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('every = "10ms"', "too often"),
        ('every = "2h"', "too rare"),
        ("max_drained = 0", "not a share"),
        ("max_drained = 1.5", "not a share"),
        ('max_drained = "much"', "max_drained"),
        ("command = true", "must be text"),
        ("probe = 1", "probe"),
    ],
)
def test_wrong_health_settings_say_what_is_wrong(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "muster.toml"
    path.write_text(f"[health]\n{line}\n")
    with pytest.raises(InvalidDocument, match=problem):
        read_server_file(path)


def test_containers_are_read_for_all_nodes_and_for_those_of_an_engine(tmp_path: Path) -> None:
    path = tmp_path / "muster.toml"
    path.write_text(
        '[containers]\nruntime = "podman"\noptions = ["--runtime=runc"]\npull_timeout = "5m"\n'
        '[[engines]]\nname = "lab"\nkind = "agents"\ncontainers = {run_options = ["--ulimit=memlock=-1"]}\n'
    )
    read = read_server_file(path)
    podman = ContainerRules(runtime="podman", options=("--runtime=runc",), pull_timeout_ms=300_000)
    assert read.containers == podman
    assert read.engine_containers == {"lab": ContainerRules(run_options=("--ulimit=memlock=-1",))}


@pytest.mark.parametrize(
    ("line", "problem"),
    [('runtime = "lxc"', "runtime"), ('pull_timeout = "31m"', "below 30m"), ('options = "--x"', "must be a list")],
)
def test_wrong_settings_of_containers_say_what_is_wrong(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "muster.toml"
    path.write_text(f"[containers]\n{line}\n")
    with pytest.raises(InvalidDocument, match=problem):
        read_server_file(path)


CLUSTER = """
[cluster]
levels = ["rack"]
nodes = [
  {name = "n[1-2]", gpus = 8, gpu_type = "h100", cpus = 64, memory = "512GiB", rack = "r1", state = "drained"},
  {name = "s1", gpus = 4, gpu_type = "a100", rack = "r2", pool = "spot", bad_gpus = [3]},
]

[pools.spot]
spot = true
price = 0.5
"""
IN_YAML = "{levels: [rack], nodes: [{name: n1, gpus: 8, rack: r1, pool: spot}, {name: n2, rack: r1}]}"


def test_nodes_are_described_as_in_a_scenario(tmp_path: Path) -> None:
    settings = read_server_file(written(tmp_path, CLUSTER))
    assert settings.cluster is not None
    scenario = {"now": "2026-01-01T00:00:00Z", **tomllib.loads(CLUSTER)}
    assert settings.cluster.spec == scenario_from_document(Document(file="x.yaml", value=scenario)).cluster
    first, _, last = settings.cluster.spec.nodes
    assert (first.gpu_type, first.cpu_milli, first.domains, first.state) == ("h100", 64_000, ("r1",), "drained")
    assert (last.pool, last.bad_gpus) == ("spot", (3,))
    assert settings.rules is not None
    assert [pool.name for pool in settings.rules.pools] == ["spot", "main"]
    assert settings.nodes is None


@pytest.mark.parametrize("text", [IN_YAML, f"cluster: {IN_YAML}\nteams: {{nlp: {{}}}}\n"])
def test_nodes_may_be_described_in_a_file_beside_it(tmp_path: Path, text: str) -> None:
    written(tmp_path, text, "cluster.yaml")
    settings = read_server_file(written(tmp_path, "[cluster]\nfile = 'cluster.yaml'\n[pools.spot]\nspot = true\n"))
    assert settings.cluster is not None
    assert [(node.name, node.pool) for node in settings.cluster.spec.nodes] == [("n1", "spot"), ("n2", "main")]
    assert settings.cluster.ignored == (("teams",) if "teams" in text else ())
    assert settings.cluster.document == yaml.safe_load(IN_YAML)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CLUSTER.replace('pool = "spot"', 'pool = "spott"'), "cluster.nodes[1].pool: there is no pool 'spott'"),
        (CLUSTER.replace("gpus = 4", "gpu = 4"), "cluster.nodes[1].gpu: is neither a key of a node nor one of"),
        (CLUSTER + "[local]\nnodes = '4x8'\n", "local.nodes: the nodes are described in [cluster] already"),
        ("[cluster]\nfile = 'cluster.yaml'\nlevels = ['rack']\n", "cluster.levels: unknown key"),
        ("[cluster]\nfile = 'other.yaml'\n", "other.yaml: there is no such file"),
        ("[cluster]\nfile = 'bad.yaml'\n", "bad.yaml:1: cluster.nodes[0].name: is required and was not given"),
        ("cluster = 'many'\n", "cluster: 'many' is not a cluster"),
    ],
)
def test_a_cluster_that_is_described_wrong_is_refused(tmp_path: Path, text: str, message: str) -> None:
    written(tmp_path, IN_YAML, "cluster.yaml")
    written(tmp_path, "cluster: {nodes: [{gpus: 8}]}", "bad.yaml")
    with pytest.raises(MusterError) as refused:
        read_server_file(written(tmp_path, text))
    assert message in str(refused.value)
