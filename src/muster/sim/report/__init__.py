"""One self-contained HTML page that shows what policies did with a trace. It needs no network.

    writing      the report as a whole
    sections     one file per section
    figures      the numbers that sections show, and their texts
    charts       what several charts share
    blocks page  what a section is made of, and how that becomes HTML; `charts.js` draws the charts

The same replays always give the same bytes: no clock is read. The report reads the results of replays and the figures
computed from them. It decides nothing, and does not compute again what `muster simulate -o json` has.
"""

from muster.sim.report.sections.about import About
from muster.sim.report.sections.sweep import Sweep
from muster.sim.report.writing import write_report

__all__ = ["About", "Sweep", "write_report"]
