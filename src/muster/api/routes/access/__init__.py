"""Who may do what, and who did.

tokens    the secrets that programs and people show
sessions  signing in with a browser
audit     who did what
"""

from muster.api.routes.access import audit, sessions, tokens

ROUTERS = (
    tokens.router,
    sessions.router,
    audit.router,
)
