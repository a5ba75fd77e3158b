"""What there is to be allowed, and which role allows what. Whatever is not in the table is denied."""

from enum import StrEnum

from muster.model.access import Role


class Permission(StrEnum):
    """One kind of thing that somebody may do. A route names the one it needs."""

    JOBS_SEE = "jobs.see"
    JOBS_SUBMIT = "jobs.submit"
    JOBS_CHANGE = "jobs.change"
    """Their own jobs."""
    JOBS_CHANGE_OTHERS = "jobs.change_others"
    CLUSTER_SEE = "cluster.see"
    METRICS_SEE = "metrics.see"
    NODES_CHANGE = "nodes.change"
    QUOTA_CHANGE = "quota.change"
    """Of the teams below the one it is held on."""
    POLICY_CHANGE = "policy.change"
    TOKENS_CHANGE = "tokens.change"
    """Of the teams on which it is held, for services of the team."""
    PEOPLE_NAME = "people.name"
    """Make tokens that act in the name of a person, and such that never expire."""
    AUDIT_SEE = "audit.see"


_VIEWER = frozenset({Permission.JOBS_SEE, Permission.CLUSTER_SEE, Permission.METRICS_SEE})
_MEMBER = _VIEWER | {Permission.JOBS_SUBMIT, Permission.JOBS_CHANGE}
_LEAD = _MEMBER | {Permission.JOBS_CHANGE_OTHERS, Permission.QUOTA_CHANGE, Permission.TOKENS_CHANGE}
_OPERATOR = (_LEAD - {Permission.TOKENS_CHANGE}) | {
    Permission.NODES_CHANGE,
    Permission.POLICY_CHANGE,
    Permission.AUDIT_SEE,
}

ALLOWED: dict[Role, frozenset[Permission]] = {
    Role.VIEWER: _VIEWER,
    Role.MEMBER: _MEMBER,
    Role.LEAD: _LEAD,
    Role.OPERATOR: _OPERATOR,
    Role.ADMIN: frozenset(Permission),
}

CLUSTER_ROLES = frozenset({Role.OPERATOR, Role.ADMIN})
"""Roles that exist on the whole cluster only: bound to a team they allow nothing."""

SEEN_BY_ALL = frozenset({Permission.CLUSTER_SEE, Permission.METRICS_SEE})
"""What a role on any team allows for the whole cluster."""
