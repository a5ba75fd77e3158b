"""The gang of most stories, and what its workers have done, kept by themselves."""

from pathlib import Path

from tests.e2e.conftest import eventually
from tests.engines.server import OnEngine

GANG = """
name: gang
workers: 2
resources: {gpus: 6}
topology: {within: rack}
max_duration: 2h
run: |
  exec 9> MARKS/alone-$MUSTER_RANK
  flock -n 9 || touch MARKS/twice
  echo $MUSTER_ATTEMPT >> MARKS/ledger-$MUSTER_RANK
  echo $MUSTER_NODE rank $MUSTER_RANK of $MUSTER_WORLD, GPUs $MUSTER_GPUS, PRINTS
  trap 'echo told; exit 143' TERM
  until [ -e MARKS/end ]; do sleep 0.1 9>&-; done
  echo rank $MUSTER_RANK is done
"""


class Marks:
    """A folder that the workers of a gang write to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "marks"
        self.folder.mkdir()

    def gang(self, prints: str = "no more") -> str:
        """A job file. Each worker prints a line with this in it."""
        return GANG.replace("MARKS", str(self.folder)).replace("PRINTS", prints)

    def begun(self, engine: OnEngine) -> str:
        """Such a gang, once both workers run."""
        job = engine.begin(self.gang(engine.prints))
        self.await_both()
        return job

    def await_both(self, attempts: int = 1) -> None:
        """Wait until both workers have begun so many times."""
        eventually(lambda: all(len(self.attempts(rank)) >= attempts for rank in (0, 1)), what="both have begun")

    def ended(self, engine: OnEngine, job: str, attempts: int = 1) -> None:
        """The gang ends well, after so many attempts, and leaves nothing."""
        self.end()
        engine.await_state(job, "succeeded")
        assert engine.job(job)["attempt"] == attempts
        expected = [str(number) for number in range(1, attempts + 1)]
        assert [self.attempts(rank) for rank in (0, 1)] == [expected, expected]
        engine.await_nothing_left()

    def end(self) -> None:
        """Have the workers end."""
        (self.folder / "end").touch()

    def attempts(self, rank: int = 0) -> list[str]:
        """In which attempts a rank has run. Fails if it ever ran twice at a time."""
        assert not (self.folder / "twice").exists()
        ledger = self.folder / f"ledger-{rank}"
        return ledger.read_text("utf-8").split() if ledger.exists() else []
