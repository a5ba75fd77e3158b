"""What people should know about a replay besides its figures: lines on stderr."""

import typer

from muster.model.job import JobState
from muster.model.trace import Trace
from muster.sim.outcome import Replay


def tell_skipped(trace: Trace) -> None:
    """Say how many jobs of the file are not in the replay."""
    if trace.skipped:
        told = f"{trace.name}: {_jobs(trace.skipped)} left out: the file does not say how long they ran or on how much"
        typer.echo(f"muster: {told}", err=True)


def tell_limits(made: Replay, what: str) -> None:
    """Say how many jobs their limits have cut: in the source they were not."""
    cut = sum(outcome.state is JobState.TIMED_OUT for outcome in made.outcomes)
    if cut:
        told = f"{_jobs(cut)} stopped at {'its' if cut == 1 else 'their'} limit, because of stragglers"
        typer.echo(f"muster: {what}: {told}", err=True)


def _jobs(count: int) -> str:
    return "1 job was" if count == 1 else f"{count:,} jobs were"
