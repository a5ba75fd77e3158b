"""What a job is told whose nodes are set aside for others."""

from collections.abc import Callable

from muster.core.cluster.gang import Gang, with_refusals
from muster.core.cluster.setting import Setting
from muster.core.cluster.tenancy import CLOSED, SHARED
from muster.core.cluster.windows import ReservedWindow
from muster.core.explaining.wording import named
from muster.model.plan import Reason, ReasonCode
from muster.model.printable import moment_text, span_text

Fits = Callable[[Gang], bool]
"""Whether a gang finds room."""


def admitted(gang: Gang, setting: Setting) -> Gang:
    """The same gang if all reservations admitted it."""
    return with_refusals(gang, _refuses(gang) & (SHARED | CLOSED), setting)


def reserved(gang: Gang, setting: Setting, now_ms: int, fits: Fits) -> Reason:
    """The reservations that keep a gang waiting which would fit if they admitted it; the first to end are named."""
    in_the_way = _needed(gang, setting, now_ms, fits)
    first = min(in_the_way, key=_end).reservation
    names = tuple(window.reservation.name for window in in_the_way)
    others = len(names) - 1
    more = f", and {others} more reservation{' is' if others == 1 else 's are'} in its way" if others else ""
    when = "" if first.from_ms <= now_ms else f" from {moment_text(first.from_ms)}"
    nodes = named(first.nodes)
    opens_ms = min(window.reservation.from_ms for window in in_the_way)
    shorter = f"a max_duration of less than {span_text(opens_ms - now_ms)}, or " if opens_ms > now_ms else ""
    ends_ms = max(window.reservation.to_ms for window in in_the_way)
    return Reason(
        code=ReasonCode.RESERVATION,
        message=f"{nodes} {'is' if len(first.nodes) == 1 else 'are'} set aside for {first.holder} by reservation "
        f"{first.name}{when} until {moment_text(first.to_ms)}{more}",
        would_help=f"{shorter}the end of {named(names)} in {span_text(ends_ms - now_ms)}",
        about=names,
    )


def _needed(gang: Gang, setting: Setting, now_ms: int, fits: Fits) -> list[ReservedWindow]:
    """The one reservation without which the gang would fit; where it takes several, no more of them than needed.

    Those that end last are left out first, so that what it is told to wait for comes soonest.
    """
    refuses = _refuses(gang)
    needed = [window for window in setting.windows if window.kind & refuses and window.reservation.to_ms > now_ms]
    for window in sorted(needed, key=_end):
        if fits(with_refusals(gang, refuses & ~window.kind, setting)):
            return [window]
    lifted = refuses
    for window in needed:
        lifted &= ~window.kind
    for window in sorted(needed, key=_end, reverse=True):
        if fits(with_refusals(gang, lifted | window.kind, setting)):
            lifted |= window.kind
            needed.remove(window)
    return sorted(needed, key=_end)


def _refuses(gang: Gang) -> int:
    return gang.choices[0].asks[0].tenancy.refuses


def _end(window: ReservedWindow) -> tuple[int, str]:
    return (window.reservation.to_ms, window.reservation.name)
