"""How the cluster decides.

teams   quotas
rules   tiers, pools and the policy
config  a configuration with all of them
"""

from muster.api.routes.rules import config, rules, teams

ROUTERS = (
    teams.router,
    rules.router,
    config.router,
)
