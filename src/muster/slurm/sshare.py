"""`sshare`: the shares of accounts, and what was used."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from muster.answers.teams import Team
from muster.slurm.asking import Cluster
from muster.slurm.options import Parser, connected, show_lines
from muster.slurm.sacctmgr import Association, associations
from muster.slurm.showing.columns import Field, catalog, named_lines

USUAL = "Account,User,RawShares,NormShares,RawUsage,EffectvUsage,FairShare"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """An account with its part of all."""

    own: Association
    usage_gpu_s: float
    weights: float
    usages_gpu_s: float
    """Of all accounts together."""
    user: str = ""

    @property
    def norm_share(self) -> float:
        """Its part of all shares."""
        return self.own.weight / self.weights if self.weights else 1.0

    @property
    def effective_usage(self) -> float:
        """Its part of all that was used."""
        return self.usage_gpu_s / self.usages_gpu_s if self.usages_gpu_s else 0.0

    @property
    def fair_share(self) -> float:
        """Near 1 when it used little of its share, near 0 when it used much more, as in Slurm's classic formula."""
        return float(2 ** -(self.effective_usage / self.norm_share)) if self.norm_share else 0.0


def _field(name: str, value: Callable[[Share], object], width: int = 11) -> Field[Share]:
    return Field(name=name, value=value, width=width)


_FIELDS = catalog(
    (
        _field("Account", lambda each: each.own.account, 20),
        _field("User", lambda each: each.user, 10),
        _field("Cluster", lambda _: "muster", 10),
        _field("RawShares", lambda each: f"{each.own.weight:g}", 10),
        _field("NormShares", lambda each: f"{each.norm_share:.6f}"),
        _field("RawUsage", lambda each: int(each.usage_gpu_s)),
        _field("NormUsage", lambda each: f"{each.effective_usage:.6f}"),
        _field("EffectvUsage", lambda each: f"{each.effective_usage:.6f}", 13),
        _field("FairShare", lambda each: f"{each.fair_share:.6f}", 10),
        _field("LevelFS", lambda each: f"{each.norm_share / (each.effective_usage or 1):.6f}", 10),
        *(_field(name, lambda _: "") for name in ("GrpTRESMins", "TRESRunMins", "Partition")),
    )
)


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = Parser("sshare")
    parser.texts("-o --format", "-A --accounts", "-u --users")
    parser.flags("-h --noheader", "-p --parsable", "-P --parsable2", "-U --Users", "-a --all")
    parser.ignored("-l --long", "-m --partition", "-n --numeric")
    parser.ignored("-M --clusters", takes_value=True)
    given = parser.parse_args(arguments)
    with connected("sshare") as client:
        rows = _shares(Cluster(client), with_users=given.Users or given.all)
    accounts = [word for text in given.accounts for word in text.split(",")]
    rows = [row for row in rows if not accounts or row.own.account in accounts]
    show_lines(named_lines(",".join(given.format) or USUAL, _FIELDS, rows, given, "sshare"))
    return 0


def _shares(cluster: Cluster, *, with_users: bool) -> list[Share]:
    teams: dict[str, Team] = {team.path: team for team in cluster.client.teams()}
    tops = [team for path, team in teams.items() if "/" not in path]
    return [
        Share(
            own=own,
            user=own.user if with_users else "",
            usage_gpu_s=teams[own.account].usage_gpu_s if own.account in teams else 0.0,
            weights=sum(team.weight for team in tops),
            usages_gpu_s=sum(team.usage_gpu_s for team in tops),
        )
        for own in associations(cluster)
    ]
