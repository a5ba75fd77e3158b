"""One job as the simulated world sees it: the work it has to do, how far it has come, and what its GPUs were used for.

Work is counted in parts: a gang at its nominal size and speed does `PARTS` of it in a millisecond. Regular saves need
no events, because how often a job has saved follows from how long it has run. So simulating a job costs the same
whether it runs for a minute or a month.

A replay has one such object for each job of the trace and uses it all the time, so it is a plain object with slots.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from muster.model.events import WorkersExited
from muster.model.ids import GpuType, JobId
from muster.model.job import Placement
from muster.model.policy import MINUTE_MS
from muster.model.resources import GPU_MILLI

PARTS = 1_000_000
"""Parts of work done in a millisecond at nominal speed. So the speeds of GPU types are exact to a millionth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """How the jobs of a replay behave."""

    start_ms: int = 0
    """From the command until the workers are up."""
    restart_cost_ms: int = 0
    """How long every attempt after the first occupies all its GPUs before it makes progress."""
    save_every_ms: int = 30 * MINUTE_MS
    """A job that can resume saves itself this often, by its own clock; 0 means never."""
    save_cost_ms: int = 0
    """How long training stops for a regular save, and for a save on leaving."""
    leave_ms: int = 0
    """From being told to leave until it is gone, without the time for the save."""
    reports_saves: bool = True
    """False where no job can lose work: regular saves are counted but not reported, which is much faster."""


class Training:
    """A job's work and its accounts. Inside, GPU time is in GPU thousandths times milliseconds."""

    __slots__ = (
        "attempt",
        "can_resume",
        "crash_left",
        "end_ms",
        "exit_report",
        "faults",
        "generation",
        "is_told",
        "is_up",
        "is_whole",
        "job",
        "kept",
        "left",
        "lost",
        "milli",
        "opened_ms",
        "pace",
        "partings",
        "saving",
        "seats",
        "seen",
        "since_ms",
        "size",
        "slowed",
        "speed",
        "speeds",
        "stamp",
        "stint_ms",
        "stints",
        "unsaved",
        "useful",
        "workers",
    )

    def __init__(
        self,
        job: JobId,
        work_ms: int,
        *,
        size: int,
        speeds: Sequence[tuple[GpuType, int]] = (),
        can_resume: bool = True,
        crash_at: float | None = None,
    ) -> None:
        self.job = job
        self.left = work_ms * PARTS
        """Work that remained when the accounts were last brought up to date."""
        self.kept = self.left
        """Work that remained at the last save, and remains again after a loss."""
        self.size = size
        """Number of workers at which it runs at nominal speed."""
        self.speeds = speeds
        """Parts of work in a millisecond by GPU type; other types run at nominal speed."""
        self.can_resume = can_resume
        self.crash_left = -1 if crash_at is None else int(self.left * (1 - crash_at))
        """How much work remains when it crashes, which it does once; negative when it never does."""
        self.attempt = 0
        self.generation = 0
        self.stamp = 0
        """Changes whenever simulation events scheduled for the job become invalid."""
        self.is_up = self.is_told = False
        self.is_whole = True
        """False once a worker is gone: what is left of the gang neither trains nor saves."""
        self.workers: Placement = ()
        """Workers that have a process, or are about to."""
        self.seats: Placement = ()
        """Workers whose GPUs are not free yet: a broken gang keeps its GPUs until its last worker is gone."""
        self.milli = 0
        """GPU thousandths of the seats."""
        self.pace = 0
        """Parts of work in a millisecond, now."""
        self.speed = PARTS
        """The present speed of these GPUs with stragglers, in millionths of the speed without them."""
        self.since_ms = 0
        """When it began, or will begin, to make progress; regular saves are counted from here."""
        self.opened_ms = 0
        """Up to when the accounts are complete."""
        self.end_ms = 0
        """When it will be done if nothing interrupts it."""
        self.stint_ms = 0
        self.stints: list[tuple[int, int, int, Placement]] = []
        """Start, end, GPU thousandths and seats of every stretch of time in which it occupied GPUs."""
        self.unsaved = self.useful = self.lost = self.saving = 0
        self.slowed = 0
        """GPU time lost to stragglers, as if the job had stood still for a part of the time."""
        self.faults = 0
        self.exit_report: WorkersExited | None = None
        """How the present attempt ended."""
        self.partings: tuple[WorkersExited, ...] = ()
        """How the workers ended that left the present attempt earlier."""
        self.seen: Placement = ()
        """All workers that the present attempt has had."""

    def settle(self, now_ms: int, habits: Habits) -> None:
        """Bring the accounts up to now. The interval of regular saves starts again."""
        since_ms = self.since_ms
        if not self.is_whole or (self.is_told and self.is_up and not self.pace):
            # The rest of a broken gang wastes its GPUs, and a save on leaving that did not finish is wasted too.
            self.lost += self.milli * (now_ms - self.opened_ms)
        elif self.opened_ms < since_ms and self.attempt > 1:
            self.lost += self.milli * (min(since_ms, now_ms) - self.opened_ms)
        run_ms = now_ms - since_ms
        if run_ms > 0:
            if self.is_up and self.pace:
                self._progress(run_ms, habits)
            self.since_ms = now_ms
        if now_ms > self.opened_ms:
            self.opened_ms = now_ms

    def _progress(self, run_ms: int, habits: Habits) -> None:
        every_ms = habits.save_every_ms if self.can_resume else 0
        if not every_ms or run_ms < every_ms:
            trained_ms, saved_ms = run_ms, 0
        else:
            saves, rest_ms = divmod(run_ms, every_ms + habits.save_cost_ms)
            saved_ms = saves * every_ms
            trained_ms = saved_ms + min(rest_ms, every_ms)
            self.saving += (run_ms - trained_ms) * self.milli
        if saved_ms:
            self.kept = max(self.left - saved_ms * self.pace, 0)
            self.useful += self.unsaved + self._at_speed(saved_ms * self.milli)
            self.unsaved = 0
        left = self.left - trained_ms * self.pace
        self.left = max(0, left)
        self.unsaved += self._at_speed((trained_ms - saved_ms) * self.milli)

    def _at_speed(self, gpu_time: int) -> int:
        """The part of GPU time that counts when stragglers slow the job down. The rest is added to `slowed`."""
        if self.speed == PARTS:
            return gpu_time
        worth = gpu_time * self.speed // PARTS
        self.slowed += gpu_time - worth
        return worth

    def keep(self) -> None:
        """Everything done so far is safe."""
        self.kept = self.left
        self.useful += self.unsaved
        self.unsaved = 0

    def lose(self) -> None:
        """Go back to the last save. What was done since then is lost."""
        self.left = self.kept
        self.lost += self.unsaved
        self.unsaved = 0

    def write_off(self) -> None:
        """The job ended without success: nothing of what it did counts."""
        self.lost += self.useful + self.unsaved
        self.useful = self.unsaved = 0

    def time_to(self, target: int, habits: Habits) -> int:
        """Milliseconds of running until only `target` work remains, with the saves on the way."""
        trained_ms = -(-(self.left - target) // self.pace)
        if self.can_resume and habits.save_cost_ms and 0 < habits.save_every_ms < trained_ms:
            return trained_ms + (trained_ms - 1) // habits.save_every_ms * habits.save_cost_ms
        return trained_ms

    def sit(self, workers: Placement, now_ms: int) -> None:
        """Occupy these GPUs from now on, and no others."""
        if self.seats and now_ms > self.stint_ms:
            self.stints.append((self.stint_ms, now_ms, self.milli, self.seats))
        self.workers = self.seats = workers
        self.milli = seats_milli(workers)
        self.stint_ms = now_ms

    def gpu_ms(self) -> tuple[int, int, int]:
        """Useful, lost and saving time in GPU milliseconds; `slowed` is not included."""
        return self.useful // GPU_MILLI, self.lost // GPU_MILLI, self.saving // GPU_MILLI


def seats_milli(workers: Placement) -> int:
    """GPU thousandths that these workers occupy."""
    milli = 0
    for worker in workers:
        milli += worker.gpu_milli
    return milli
