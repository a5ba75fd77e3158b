"""A configuration file compared with what is in force, and put in force while the server runs."""

from collections.abc import Iterator, Mapping
from typing import Annotated

from fastapi import APIRouter, Depends

from muster.access.permissions import Permission
from muster.api.admission.checking import check_admission
from muster.api.authorized_changes import change, require
from muster.api.gate import Caller, Needs
from muster.api.routes.error_responses import CHANGED
from muster.api.schemas import config as schemas
from muster.core.doubtful_quotas import quota_doubts
from muster.engine.engine import Engine
from muster.formats.rules.cluster_file import cluster_part
from muster.formats.rules.configured_cluster import CLUSTER, ConfiguredCluster
from muster.formats.rules.rule_merge import ChangedBy, RuleMerge
from muster.formats.rules.server_file import RULES, read_rules
from muster.formats.text.document import Document, Problems
from muster.formats.text.units import shown
from muster.live.configuration import merge_into
from muster.model.access import EVERY_TEAM
from muster.model.closed_rules import closed
from muster.model.errors import Conflict
from muster.model.ids import NodeName
from muster.model.node import ClusterSpec
from muster.model.scenario import Rules

router = APIRouter(tags=["rules"])

MayChange = Annotated[Caller, Depends(Needs(Permission.POLICY_CHANGE))]

NODES_NAMED = 20
"""As many nodes as an answer names one by one."""


@router.post("/v1/config/diff", operation_id="diff_config", summary="Compare a configuration", responses=CHANGED)
async def diff_config(caller: MayChange, body: schemas.ConfiguredParts) -> schemas.ConfigurationDiff:
    """Compare a configuration with what was configured last and what was changed since. Nothing is changed."""
    rules, cluster = _read(body)

    def compare(engine: Engine, _now_ms: int) -> schemas.ConfigurationDiff:
        merge = None if rules is None else merge_into(engine, rules, drop=False)
        return _diff(engine, merge, cluster)

    return await caller.services.ask(compare)


@router.put("/v1/config", operation_id="put_config", summary="Put a configuration in force", responses=CHANGED)
async def put_config(caller: MayChange, body: schemas.NewConfiguration) -> schemas.ConfigurationDiff:
    """Put the rules of a configuration in force, joined with what was changed at run time.

    A setting that both changed, in different ways, is a conflict (409) unless `changes` says which of the two counts.
    """
    rules, cluster = _read(body)
    for permission in (Permission.POLICY_CHANGE, Permission.QUOTA_CHANGE):
        await require(caller, permission, EVERY_TEAM, action="config.put", subject="rules")

    def put(engine: Engine, now_ms: int) -> schemas.ConfigurationDiff:
        if rules is None:
            return _diff(engine, None, cluster)
        merge = merge_into(engine, rules, drop=body.changes == "drop")
        if body.changes is None:
            _refuse_conflicts(merge)
        engine.change_rules(merge.rules, now_ms, by=caller.name, configured=closed(rules))
        return _diff(engine, merge, cluster)

    return await change(caller, "config.put", "rules", put, reason=body.reason)


def _read(body: schemas.ConfiguredParts) -> tuple[Rules | None, ClusterSpec | None]:
    """The rules and the cluster that are sent, checked like those of a file."""
    parts = {key: value for key in RULES if (value := getattr(body, key)) is not None}
    problems = Problems(Document(file="configuration", value={**parts, CLUSTER: body.cluster}))
    spec = None if body.cluster is None else cluster_part(body.cluster, problems, (CLUSTER,))
    described = None if spec is None else ConfiguredCluster(spec=spec, document=body.cluster)
    rules = read_rules(parts, described, problems)
    check_admission(() if rules is None else rules.admission)
    problems.stop_if_any()
    return rules, spec


def _refuse_conflicts(merge: RuleMerge) -> None:
    conflicts = merge.by(ChangedBy.BOTH)
    if conflicts:
        told = "; ".join(
            f"{each.setting} is {shown(each.now)} by a change at run time, and {shown(each.file)} in the file"
            for each in conflicts
        )
        raise Conflict(f"{told}; --keep-changes keeps what was changed, --drop-changes takes the file's")


def _diff(engine: Engine, merge: RuleMerge | None, cluster: ClusterSpec | None) -> schemas.ConfigurationDiff:
    changes = () if merge is None else merge.changes
    teams = engine.rules.teams if merge is None else merge.rules.teams
    nodes = engine.state.nodes.values() if cluster is None else cluster.nodes
    fields = schemas.ChangedSetting.model_fields
    return schemas.ConfigurationDiff(
        changes=[schemas.ChangedSetting(**{key: getattr(each, key) for key in fields}) for each in changes],
        nodes=[] if cluster is None else list(_node_changes(cluster, engine.state.configured_cluster or ClusterSpec())),
        warnings=[doubt.message for doubt in quota_doubts(teams, nodes)],
    )


def _node_changes(file: ClusterSpec, last: ClusterSpec) -> Iterator[str]:
    """How the nodes of a file differ from those that the server was started with."""
    if file.levels != last.levels:
        yield f"levels are {', '.join(file.levels) or 'none'}, not {', '.join(last.levels) or 'none'}"
    before, after = ({node.name: node for node in spec.nodes} for spec in (last, file))
    kinds: Mapping[str, list[NodeName]] = {
        "new": [name for name in after if name not in before],
        "gone": [name for name in before if name not in after],
        "different": [name for name, node in after.items() if before.get(name, node) != node],
    }
    for kind, names in kinds.items():
        if names:
            more = f" and {len(names) - NODES_NAMED} more" if len(names) > NODES_NAMED else ""
            yield f"{kind}: {', '.join(names[:NODES_NAMED])}{more}"
