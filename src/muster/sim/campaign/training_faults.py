"""What is done to checkpoints: parts are damaged, storage refuses them, and users remove them."""

from collections.abc import Callable

from muster.backends.fake.checkpoint_files import StepFiles, StorageTier
from muster.core.lifecycle.checkpoints import is_being_restored, is_only_good
from muster.model.events import CheckpointRemoved
from muster.model.ids import JobId
from muster.sim.campaign.schedule import FaultAction, Happening
from muster.sim.campaign.trial import Trial

TIERS = (StorageTier.HOT, StorageTier.HOT | StorageTier.DURABLE, StorageTier.HOT | StorageTier.DURABLE)


class TrainingFaults:
    """Faults of jobs that save by steps."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self.acts: dict[FaultAction, Callable[[Happening], None]] = {
            FaultAction.DAMAGE: self._damage,
            FaultAction.REFUSE_UPLOADS: self._refuse_uploads,
            FaultAction.REMOVE_CHECKPOINT: self._remove,
        }

    def make_good(self) -> None:
        """Durable storage takes everything again. What is damaged stays so."""
        self._trial.tested.refuse_uploads(0)

    def _damage(self, happening: Happening) -> None:
        """Damage one part of a checkpoint, most often of the newest one of a job."""
        pick, saved = happening.pick, self._saved()
        if saved:
            mine = saved[pick % len(saved)]
            files = mine[-1 - pick // 16 % min(2, len(mine))]
            files.damage(tuple(files.parts)[pick // 32 % len(files.parts)], TIERS[pick // 256 % len(TIERS)])

    def _saved(self) -> list[tuple[StepFiles, ...]]:
        """The complete checkpoints of every job that has some and has not ended."""
        alive = (job.id for job in self._trial.engine.state.jobs.values() if not job.state.is_final)
        whole = (tuple(each for each in self._trial.tested.files.of(job) if each.is_whole) for job in alive)
        return [each for each in whole if each]

    def _refuse_uploads(self, happening: Happening) -> None:
        self._trial.tested.refuse_uploads(happening.amount_ms)

    def _remove(self, happening: Happening) -> None:
        """A user removes a checkpoint, as far as the API lets them."""
        trial, found = self._trial, self._removable()
        if found:
            job, step = found[happening.pick % len(found)]
            trial.engine.observe(CheckpointRemoved(at_ms=trial.now_ms, job=job, step=step, by="ada"))
            trial.tested.files.remove(job, step)

    def _removable(self) -> list[tuple[JobId, int]]:
        """Newest first, because the newest ones matter."""
        return [
            (job.id, each.step)
            for job in self._trial.engine.state.jobs.values()
            if not job.state.is_final
            for each in reversed(job.checkpoints)
            if not is_only_good(job, each.step) and not is_being_restored(job, each.step)
        ]
