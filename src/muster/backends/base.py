"""The port to whatever starts processes on nodes.

The contract that every adapter keeps, and that lets either side forget or repeat itself:

- **Fenced.** A command whose generation is older than the newest one seen for its job is refused without effect.
- **Idempotent.** A command that was carried out already changes nothing; what is known of the workers it names is
  reported again, so that a report that got lost is made up for by sending the command again.
- **Honest about the unknown.** A stop or a kill for a worker that was never started is answered with `StartFailed`.
- **One attempt at a time.** Starting a newer attempt ends whatever is left of an older one, without a report. A command
  for an older attempt starts and ends nothing: it is answered with `StartFailed` for what is gone of that attempt.
- **One worker on a GPU.** A start on GPUs that are in use on the node is answered with `StartFailed`, whoever asks.
- **Silent about what it cannot see.** A node that nobody can talk to is reported as unreachable. Its workers are not
  reported before they are known to be gone: one by one when the node is back, or all at once as a lost node.
- **Lost means gone.** A node is reported as lost when every process on it has ended: the machine is off, or the node
  was swept or fenced.
- **Told twice.** What ran on a lost node is to be killed, and again once the node is back: whatever was
  on its way there comes too late then.
"""

from typing import Protocol

from muster.model.events import ObservedEvent
from muster.model.instructions import Command


class Backend(Protocol):
    """Starts, stops and watches workers."""

    def send(self, command: Command) -> None:
        """Take a command to carry out. Returns before it is done; what became of it is reported."""
        ...

    def poll(self) -> tuple[ObservedEvent, ...]:
        """What was observed since the last call, in the order it happened. Never waits."""
        ...


class LiveBackend(Backend, Protocol):
    """A backend that keeps what it reported until it is known to be written down."""

    @property
    def has_caught_up(self) -> bool:
        """True once everything has been polled or can be that happened while nobody listened."""
        ...

    def acknowledge(self) -> None:
        """Everything that was polled so far is in the log."""
        ...

    def decided(self) -> None:
        """Whatever is due was acted upon; while this is not said, nodes keep limits by themselves."""
        ...
