"""Several control planes on one database: one leads, the others stand by.

lease_keeper     the leader renews its lease, and says whether it may act
term             one attempt to lead: an epoch that begins with its lease
fenced_sends     nothing is sent to nodes without a valid lease
follower         a standby folds the log as it grows, and publishes views like a leader
candidacy        a standby watches the lease, and says when it may be taken
silent_backend   what a standby knows of nodes: the files of jobs, and nothing else
reading          what the API reads from either of them
"""
