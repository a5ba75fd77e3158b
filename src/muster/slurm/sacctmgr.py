"""`sacctmgr`: which accounts there are, and who may use them. Accounts are teams, and a QOS is a tier."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from muster.client import Client
from muster.model.access import EVERY_TEAM, covers
from muster.model.ids import TeamPath
from muster.slurm.asking import Cluster
from muster.slurm.options import Parser, SlurmError, connected, show_lines
from muster.slurm.showing.columns import Field, catalog, named_lines

DEFAULT_ACCOUNT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """A user with an account."""

    user: str
    account: str
    parent: str = ""
    weight: float = 1
    qos: str = ""


def _field(name: str, value: Callable[[Association], object], width: int = 10) -> Field[Association]:
    return Field(name=name, value=value, width=width)


def _blank(_: Association) -> str:
    return ""


_FIELDS = catalog(
    (
        _field("Account", lambda each: each.account),
        _field("Acct", lambda each: each.account),
        _field("User", lambda each: each.user),
        _field("Cluster", lambda _: "muster"),
        _field("Name", lambda each: each.account),
        _field("Descr", lambda each: each.account, 20),
        _field("Org", lambda each: each.account.partition("/")[0], 20),
        _field("Parent", lambda each: each.parent),
        _field("ParentName", lambda each: each.parent),
        _field("DefaultAccount", lambda each: each.account),
        _field("DefaultQOS", lambda each: each.qos.partition(",")[0]),
        _field("QOS", lambda each: each.qos, 20),
        _field("Share", lambda each: f"{each.weight:g}", 9),
        _field("Fairshare", lambda each: f"{each.weight:g}", 9),
        _field("Admin", lambda _: "None", 9),
        _field("Priority", lambda _: "0"),
        _field("ControlHost", lambda _: "localhost", 15),
        _field("RPC", lambda _: "9728", 5),
        *(
            _field(name, _blank)
            for name in ["Partition", "MaxJobs", "MaxNodes", "MaxWall", "MaxTRES", "GrpTRES", "GrpJobs", "Flags"]
        ),
    )
)

_USUAL = {
    "user": "User,DefaultAccount,Admin",
    "account": "Account,Descr,Org",
    "association": "Cluster,Account,User,Partition,Share,QOS",
    "qos": "Name,Priority,Flags",
    "cluster": "Cluster,ControlHost,RPC",
}


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = Parser("sacctmgr")
    parser.add_argument("words", nargs="*")
    parser.flags("-n --noheader", "-p --parsable", "-P --parsable2", "-s --associations")
    parser.ignored("-i --immediate", "-r --readonly", "-Q --quiet")
    given = parser.parse_intermixed_args(arguments)
    said: list[str] = [*given.words, "", ""]
    verb, noun, rest = said[0], said[1], said[2:]
    if verb not in ("list", "show"):
        raise SlurmError(
            f"sacctmgr: error: {verb or 'nothing'} is not possible here: use `muster quota` and `muster token`"
        )
    kind = next((each for each in _USUAL if noun and each.startswith(noun.lower().rstrip("s"))), "")
    kind = "association" if noun.lower().startswith("assoc") else "qos" if noun.lower() == "qos" else kind
    if not kind:
        raise SlurmError(f"sacctmgr: error: {noun or 'nothing'} cannot be listed here")
    settings = {key.lower(): value for key, equals, value in (word.partition("=") for word in rest) if equals}
    named = [word for word in rest if word and "=" not in word and word.lower() not in ("where", "withassoc")]
    with connected("sacctmgr") as client:
        rows = _rows(client, kind, settings, named)
    show_lines(named_lines(settings.get("format", _USUAL[kind]), _FIELDS, rows, given, "sacctmgr"))
    return 0


def _rows(client: Client, kind: str, settings: dict[str, str], named: Sequence[str]) -> list[Association]:
    if kind == "cluster":
        return [Association(user="", account="muster")]
    if kind == "qos":
        return [Association(user="", account=str(tier["name"])) for tier in client.tiers()]
    cluster = Cluster(client)
    users = settings.get("user") or settings.get("users") or settings.get("name", "") * (kind == "user")
    asked = cluster.users([*filter(None, users.split(",")), *(named if kind == "user" else ())])
    own = associations(cluster)
    if kind == "account":
        accounts = {*filter(None, settings.get("account", "").split(",")), *named}
        return [each for each in own if not accounts or each.account in accounts]
    return [each for each in own if not asked or each.user in asked]


def associations(cluster: Cluster) -> list[Association]:
    """The accounts that the caller may use."""
    bindings = [TeamPath(each["team"]) for each in cluster.client.whoami().bindings]
    tiers = ",".join(str(tier["name"]) for tier in cluster.client.tiers())
    teams = [
        Association(
            user=cluster.me,
            account=team.path,
            parent=team.path.rpartition("/")[0] or "root",
            weight=team.weight,
            qos=tiers if team.tiers is None else ",".join(team.tiers),
        )
        for team in cluster.client.teams()
        if any(covers(binding, TeamPath(team.path)) for binding in bindings)
    ]
    known = {each.account for each in teams}
    named = [team for team in bindings if team != EVERY_TEAM and team not in known]
    everywhere = [DEFAULT_ACCOUNT] if EVERY_TEAM in bindings and DEFAULT_ACCOUNT not in known else []
    return [*teams, *(Association(user=cluster.me, account=team, parent="root") for team in (*named, *everywhere))]
