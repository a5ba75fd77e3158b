"""What is known of jobs on this node, so that a supervisor's successor knows it too.

register        a fold over entries
journal         the entries on disk
orphan_cleanup  workers of a supervisor that died are ended, and their ends reported
"""
