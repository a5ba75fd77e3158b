"""What the client asks about trainings: checkpoints, measures, steps and stacks. And how it asks for lists."""

from collections.abc import Iterator
from typing import Any, TypeVar
from urllib.parse import quote

from muster.client.answers import Answer, BatchStep, Checkpoint, JobBundle, Measure, Stacks
from muster.client.building import build
from muster.client.transport import Transport

PAGE_ITEMS = 500

VERIFY_S = 660.0
"""How long to wait until checkpoints are verified: a little longer than the server takes at the most."""

AnswerT = TypeVar("AnswerT", bound=Answer)


class Trainings:
    """The part of the client that is about trainings."""

    _wire: Transport

    def checkpoints(self, job: str) -> Iterator[Checkpoint]:
        """What a job has saved, oldest first."""
        return self._pages(f"{job_path(job)}/checkpoints", Checkpoint, {})

    def verify_checkpoints(self, job: str, step: int | None = None) -> list[Checkpoint]:
        """Have the files of one checkpoint, or of all, compared with their checksums. This can take minutes."""
        answer = self._wire.json("POST", f"{job_path(job)}/checkpoints/verify", body={"step": step}, timeout_s=VERIFY_S)
        return [build(Checkpoint, each) for each in answer["items"]]

    def remove_checkpoint(self, job: str, step: int) -> None:
        """Remove a checkpoint everywhere."""
        self._wire.send("DELETE", f"{job_path(job)}/checkpoints/{step}")

    def measures(self, job: str) -> Iterator[Measure]:
        """What a training measured of itself, such as its loss, oldest first."""
        return self._pages(f"{job_path(job)}/measures", Measure, {})

    def steps(self, job: str) -> Iterator[BatchStep]:
        """The steps of the last attempt of a batch job, as they began."""
        return self._pages(f"{job_path(job)}/steps", BatchStep, {})

    def bundle(self, job: str) -> JobBundle:
        """The working directory that was copied when a job was submitted, with the difference to its commit."""
        return build(JobBundle, self._wire.json("GET", f"{job_path(job)}/bundle"))

    def stacks(self, job: str, attempt: int | None = None) -> Stacks:
        """What the processes of a job are doing now; with `attempt`, what they did when that attempt stood still."""
        return build(Stacks, self._wire.json("GET", f"{job_path(job)}/stacks", query={"attempt": attempt}))

    def _pages(
        self, path: str, kind: type[AnswerT], query: dict[str, Any], *, limit: int | None = None
    ) -> Iterator[AnswerT]:
        """All items one by one, as answers of this kind."""
        return (build(kind, each) for each in self._items(path, query, limit=limit))

    def _items(self, path: str, query: dict[str, Any], *, limit: int | None = None) -> Iterator[Any]:
        """All items one by one. The next page is fetched when one is used up."""
        cursor, left = None, limit
        while left is None or left > 0:
            size = PAGE_ITEMS if left is None else min(left, PAGE_ITEMS)
            page = self._wire.json("GET", path, query={**query, "limit": size, "cursor": cursor})
            items = page.get("items", [])
            yield from items
            cursor, left = page.get("next"), None if left is None else left - len(items)
            if not cursor:
                return


def job_path(job: str) -> str:
    """The path of a job in the API."""
    return f"/v1/jobs/{quoted(job)}"


def quoted(text: str, *, safe: str = "") -> str:
    """A part of a path, with everything escaped that has a meaning there."""
    return quote(text, safe=safe)
