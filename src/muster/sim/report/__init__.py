"""One self-contained HTML page that shows what policies did with a trace: no network, no clock, always the same bytes.

Reads what replays left behind and the figures computed from it. Decides nothing and computes no figure of its own that
`muster simulate -o json` has.
"""

from muster.sim.report.about import About
from muster.sim.report.sweep import Sweep
from muster.sim.report.writing import write_report

__all__ = ["About", "Sweep", "write_report"]
