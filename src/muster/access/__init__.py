"""Who somebody is and what they may do.

permissions     what there is to be allowed, and which role allows what
principal       who asks, and the one question: may they?
secrets         the secret in a token: made, shown once, and afterwards known only by its digest
keyring         from the secret that was shown to the person it belongs to
local_token     the token of the person whose machine this is
shared_account  whether people who share no account share the one that jobs run in
audit_entries   what the audit says of one act
"""
