"""All permissions, and which role has which. What the table does not allow is denied."""

from enum import StrEnum

from muster.model.access import Role


class Permission(StrEnum):
    """One kind of action. Every route names the permission it needs."""

    JOBS_SEE = "jobs.see"
    JOBS_SUBMIT = "jobs.submit"
    JOBS_CHANGE = "jobs.change"
    """The caller's own jobs."""
    JOBS_CHANGE_OTHERS = "jobs.change_others"
    CLUSTER_SEE = "cluster.see"
    METRICS_SEE = "metrics.see"
    NODES_CHANGE = "nodes.change"
    AGENTS_CONNECT = "agents.connect"
    """Connect the agent of a node, with a token that has the node's name."""
    QUOTA_CHANGE = "quota.change"
    """Quotas of the teams below the team on which the caller has it."""
    POLICY_CHANGE = "policy.change"
    TOKENS_CHANGE = "tokens.change"
    """Tokens for services of the teams on which the caller has it."""
    PEOPLE_NAME = "people.name"
    """Make tokens that act in the name of a person, and tokens that never expire."""
    AUDIT_SEE = "audit.see"
    WHAT_IF = "what_if.run"
    """Simulate with what the server knows about all jobs."""


_VIEWER = frozenset({Permission.JOBS_SEE, Permission.CLUSTER_SEE, Permission.METRICS_SEE})
_MEMBER = _VIEWER | {Permission.JOBS_SUBMIT, Permission.JOBS_CHANGE}
_LEAD = _MEMBER | {Permission.JOBS_CHANGE_OTHERS, Permission.QUOTA_CHANGE, Permission.TOKENS_CHANGE}
_OPERATOR = (_LEAD - {Permission.TOKENS_CHANGE}) | {
    Permission.NODES_CHANGE,
    Permission.AGENTS_CONNECT,
    Permission.POLICY_CHANGE,
    Permission.AUDIT_SEE,
    Permission.WHAT_IF,
}

ALLOWED: dict[Role, frozenset[Permission]] = {
    Role.VIEWER: _VIEWER,
    Role.MEMBER: _MEMBER,
    Role.LEAD: _LEAD,
    Role.OPERATOR: _OPERATOR,
    Role.ADMIN: frozenset(Permission),
}

CLUSTER_ROLES = frozenset({Role.OPERATOR, Role.ADMIN})
"""Roles that exist only on the whole cluster. Bound to a team, they allow nothing."""

SEEN_BY_ALL = frozenset({Permission.CLUSTER_SEE, Permission.METRICS_SEE})
"""Permissions that hold on the whole cluster if a role on any team has them."""
