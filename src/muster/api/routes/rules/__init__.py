"""How the cluster decides.

teams      quotas
rules      tiers, pools and the policy
admission  what jobs pass before they enter the queue, and profiles
config     a configuration with all of them
"""

from muster.api.routes.rules import admission, config, rules, teams

ROUTERS = (
    teams.router,
    rules.router,
    admission.router,
    config.router,
)
