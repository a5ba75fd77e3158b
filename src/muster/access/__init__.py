"""Who a caller is and what the caller may do.

permissions     all permissions, and which role has which
principal       the caller, and whether the caller may do something
secrets         the secret in a token: generated, shown once, and then stored only as a digest
keyring         from a secret to the principal it belongs to
local_token     the token of the user who runs the server on this machine
shared_account  the warning when several subjects share the account that jobs run in
audit_entries   how one action is written in the audit
"""
