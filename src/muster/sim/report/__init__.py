"""One self-contained HTML page that shows what policies did with a trace: no network, no clock, always the same bytes.

    writing      the report as a whole
    sections     one file per section
    figures      the numbers that sections show, and how they are said
    charts       what several charts share
    blocks page  what a section is made of, and how that becomes HTML

Reads what replays left behind and the figures computed from it. Decides nothing and computes no figure of its own that
`muster simulate -o json` has.
"""

from muster.sim.report.sections.about import About
from muster.sim.report.sections.sweep import Sweep
from muster.sim.report.writing import write_report

__all__ = ["About", "Sweep", "write_report"]
