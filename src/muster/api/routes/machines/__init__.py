"""Machines, and what is on them.

nodes node_health  machines and their health
agents             what connects machines elsewhere
quarantine         gangs on them that nobody knows
reservations       machines that are set aside
queue              how busy they are, and how much waits
troubles           what is wrong with them, and with jobs
"""

from muster.api.routes.machines import agents, node_health, nodes, quarantine, queue, reservations, troubles

ROUTERS = (
    queue.router,
    nodes.router,
    agents.router,
    node_health.router,
    quarantine.router,
    reservations.router,
    troubles.router,
)
