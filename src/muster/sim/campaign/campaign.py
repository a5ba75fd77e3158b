"""`check_schedule(seed)`: run one schedule to its end and return what was wrong."""

from muster.model.errors import MusterError
from muster.sim.campaign.crowd import crowd
from muster.sim.campaign.fault_actions import FaultActions
from muster.sim.campaign.schedule import schedule
from muster.sim.campaign.trial import Broken, Trial
from muster.sim.campaign.violations import Violations

CRASHES = (MusterError, LookupError, ValueError, TypeError, AttributeError, AssertionError, StopIteration)
"""Errors that the engine must never raise, whatever its input."""


def check_schedule(seed: int) -> Violations:
    """Run all happenings, mend all faults, and run to the end. Stops at the first violation."""
    return _checked(Trial(schedule(seed)))


def check_crowd(seed: int) -> Violations:
    """The same for a schedule in which many jobs wait for few GPUs."""
    return _checked(Trial(crowd(seed)))


def _checked(trial: Trial) -> Violations:
    try:
        _run(trial)
    except Broken as broken:
        return trial.verdict(broken.problems)
    except CRASHES as error:
        return trial.verdict((f"the engine fails: {type(error).__name__}: {error}",))
    return trial.verdict()


def _run(trial: Trial) -> None:
    actions = FaultActions(trial)
    for happening in trial.schedule.happenings:
        trial.pass_time(max(happening.at_ms, trial.now_ms))
        actions.happen(happening)
    actions.make_good()
    trial.finish()
