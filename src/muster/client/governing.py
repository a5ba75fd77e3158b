"""What the client asks of quotas, tiers, pools, the policy, and configurations with all of them."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from muster.client.answers import AdmissionTest, Document, Team
from muster.client.building import build
from muster.client.trainings import Trainings, quoted

Part = Literal["tiers", "pools", "policy", "admission", "profiles"]


class Governing(Trainings):
    """The part of the client that is about rules."""

    def teams(self) -> Iterator[Team]:
        """All teams with what they use."""
        return self._pages("/v1/teams", Team, {})

    def team(self, path: str) -> Team:
        """A team with what it uses."""
        return build(Team, self._wire.json("GET", f"/v1/teams/{quoted(path, safe='/')}"))

    def put_team(
        self,
        path: str,
        *,
        guaranteed: Mapping[str, float] | None = None,
        limit: Mapping[str, float] | None = None,
        weight: float = 1,
        **bounds: Any,
    ) -> Team:
        """Make a team, or replace its quota.

        `bounds` are what its jobs may ask for: `tiers`, `max_priority` and `allow_unpreemptible`. A bound that is not
        given stays as it is.
        """
        body = {"guaranteed": dict(guaranteed or {}), "limit": dict(limit or {}), "weight": weight, **bounds}
        return build(Team, self._wire.json("PUT", f"/v1/teams/{quoted(path, safe='/')}", body=body))

    def patch_team(self, path: str, **changes: Any) -> Team:
        """Change some of `guaranteed`, `limit`, `weight` and the bounds of a team, or make it. The rest stays."""
        return build(Team, self._wire.json("PATCH", f"/v1/teams/{quoted(path, safe='/')}", body=changes))

    def delete_team(self, path: str) -> None:
        """Remove a team that has no teams below it and no active jobs."""
        self._wire.send("DELETE", f"/v1/teams/{quoted(path, safe='/')}")

    def tiers(self) -> Any:
        """All tiers, as in a scenario file."""
        return self._wire.json("GET", "/v1/tiers")

    def pools(self) -> Any:
        """All pools, as in a scenario file."""
        return self._wire.json("GET", "/v1/pools")

    def policy(self) -> Any:
        """The policy in force, as in a scenario file."""
        return self._wire.json("GET", "/v1/policy")

    def put_rules(self, part: Part, value: object) -> Any:
        """Replace all tiers, all pools, the policy, all admission rules or all profiles."""
        return self._wire.json("PUT", f"/v1/{part}", body=value)

    def patch_policy(self, changes: Mapping[str, Any]) -> Any:
        """Change some settings of the policy; None means the default. Returns the whole policy."""
        return self._wire.json("PATCH", "/v1/policy", body=dict(changes))

    def patch_tier(self, name: str, changes: Mapping[str, Any], *, before: str | None = None) -> Any:
        """Change some settings of a tier, or add it, perhaps before another. Returns all tiers."""
        query = {} if before is None else {"before": before}
        return self._wire.json("PATCH", f"/v1/tiers/{quoted(name)}", body=dict(changes), query=query)

    def patch_pool(self, name: str, changes: Mapping[str, Any]) -> Any:
        """Change some settings of a pool, or add it. Returns all pools."""
        return self._wire.json("PATCH", f"/v1/pools/{quoted(name)}", body=dict(changes))

    def delete_rule(self, part: Literal["tiers", "pools", "admission"], name: str) -> Any:
        """Remove a tier, a pool or an admission rule. Returns the others."""
        return self._wire.json("DELETE", f"/v1/{part}/{quoted(name)}")

    def admission(self) -> Any:
        """All admission rules, as in `muster.toml`, in the order in which they are asked."""
        return self._wire.json("GET", "/v1/admission")

    def patch_admission_rule(self, name: str, changes: Mapping[str, Any], *, before: str | None = None) -> Any:
        """Change some settings of an admission rule, or add it, perhaps before another. Returns all rules."""
        query = {} if before is None else {"before": before}
        return self._wire.json("PATCH", f"/v1/admission/{quoted(name)}", body=dict(changes), query=query)

    def try_admission(self, rules: Sequence[Mapping[str, Any]], *, since: datetime) -> AdmissionTest:
        """What these rules would have done to the jobs that were submitted since then. Nothing is changed."""
        body = {"admission": [dict(rule) for rule in rules], "since": since.isoformat()}
        return build(AdmissionTest, self._wire.json("POST", "/v1/admission-tests", body=body))

    def profiles(self) -> Any:
        """All profiles by name, each with the keys of a job file that it fills in."""
        return self._wire.json("GET", "/v1/profiles")

    def diff_config(self, parts: Mapping[str, Any]) -> Document:
        """How the rules and the cluster of a configuration differ from what is in force."""
        found: Document = self._wire.json("POST", "/v1/config/diff", body=dict(parts))
        return found

    def apply_config(self, parts: Mapping[str, Any], *, changes: Literal["keep", "drop"] | None = None) -> Document:
        """Put the rules of a configuration in force. `changes` says what happens to what was changed at run time."""
        found: Document = self._wire.json("PUT", "/v1/config", body={**parts, "changes": changes})
        return found
