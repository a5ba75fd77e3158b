"""One replay, with a bar for people who watch."""

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from muster.cli.terminal.screen import screen
from muster.model.node import ClusterSpec
from muster.model.trace import Trace
from muster.policies import NamedPolicy
from muster.sim.outcome import Replay
from muster.sim.replay import Circumstances, replay


def watched_replay(
    trace: Trace, cluster: ClusterSpec, policy: NamedPolicy, circumstances: Circumstances, *, what: str
) -> Replay:
    """Replay a trace under a policy. `what` stands beside the bar."""
    console = screen(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:,.0f}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=len(trace.jobs))
        return replay(trace, cluster, policy, circumstances, progress=lambda done, _: bar.update(task, completed=done))
