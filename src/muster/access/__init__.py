"""Who a caller is and what the caller may do.

permissions     all permissions, and which role has which
principal       the caller, and whether the caller may do something
secrets         the secret in a token: generated, shown once, and then stored only as a digest
attempt_keyring running attempts of jobs as callers, by tokens of their own
keyring         from a secret to the principal it belongs to
sessions        signing in with a browser: codes, and sessions in two halves
local_token     the token of the user who runs the server on this machine
shared_account  the warning when several subjects share the account that jobs run in
audit_entries   how one action is written in the audit
"""
