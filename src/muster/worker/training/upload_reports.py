"""What is reported of copies in durable storage: each outcome once, and no more often than a job may report."""

from muster.model.ids import JobId
from muster.model.reports import CheckpointUploaded
from muster.worker.notices import Uploaded
from muster.worker.training.report_rate import ReportRate
from muster.worker.training.training_worker import NodeReports


class UploadReports:
    """The copies that one attempt of a job, or its uploader, speaks of."""

    def __init__(self, job: JobId, attempt: int, reports: NodeReports, rate: ReportRate) -> None:
        self._job = job
        self._attempt = attempt
        self._reports = reports
        self._rate = rate
        self._last: Uploaded | None = None

    def add(self, notice: Uploaded) -> None:
        """Report a copy, or what is in its way. A problem that lasts is reported once."""
        if notice == self._last or not self._rate.allows():
            return
        self._last = notice
        self._reports.report(
            CheckpointUploaded(
                at_ms=self._reports.clock(),
                job=self._job,
                attempt=self._attempt,
                step=notice.step,
                problem=notice.problem,
            )
        )
