"""`plan(snapshot, now_ms) -> Plan`: what starts, what yields, what is promised, and why the rest waits.

Read in this order: `deciding` (the cycle), `placing` (where), `promises` and `keeping` (holds), `horizons` (backfill),
`preemption`, `claims`, `victims` and `search` (who yields), `consolidation`, `resizing` (elastic jobs).
"""

from muster.core.planning.deciding import plan

__all__ = ["plan"]
