"""What a supervisor knows about the jobs on its node, kept so that its successor knows it too.

register        a fold over entries
superseding     which reports need not be kept
journal         the entries on disk
orphan_cleanup  ends the workers of a supervisor that died, and reports their ends
"""
