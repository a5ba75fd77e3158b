"""Where a gang goes: the domain and nodes whose use harms waiting shapes least.

placement          the smallest domain that fits, and exact devices in it
reference_shapes   what harm is measured by
"""
