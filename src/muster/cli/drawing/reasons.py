"""Why a job waits, and what a dry run says: reasons with what would help, promises, estimates."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.console import Console, Group, RenderableType
from rich.padding import Padding

from muster.cli.drawing.state_words import job_state, state_meaning
from muster.cli.drawing.wording import amount, clock, ranks, until
from muster.cli.terminal.screen import is_plain
from muster.cli.terminal.text import Text
from muster.client.answers import DryRun, Estimate, Hold, Reason, Why, Worker
from muster.formats.text.ranges import node_ranges
from muster.model.printable import one_line


def why_text(why: Why, console: Console, present: datetime) -> RenderableType:
    """All reasons, what would help, the place in the queue, the promise and the estimate."""
    # A held or blocked job has a place in the queue only for when it is released.
    is_in_line = why.position is not None and why.state == "queued"
    place = f"  number {why.position} in the queue" if is_in_line else ""
    parts: list[RenderableType] = [
        Text.assemble((why.job, "bold"), "  ", job_state(why.state, plain=is_plain(console)), place)
    ]
    parts += [Padding(each, (0, 0, 0, 2), expand=False) for each in reason_texts(why.reasons)]
    if not why.reasons:
        parts.append(Text(f"  {state_meaning(why.state)}", style="dim"))
    parts += [Padding(each, (0, 0, 0, 2), expand=False) for each in _when_it_starts(why.hold, why.estimate, present)]
    return Group(*parts)


def dry_run_text(answer: DryRun, present: datetime, *, has_limit: bool) -> RenderableType:
    """Where a job would go now, or why it would wait and until when, and what it may cost.

    For a job without a limit of its own, the cost assumes the limit of its tier.
    """
    parts: list[RenderableType] = []
    if answer.placement is not None:
        parts.append(Text.assemble(("would start now", "green"), f" on {placement_text(answer.placement)}"))
    else:
        parts.append(Text("would wait", style="yellow"))
    parts += [Padding(each, (0, 0, 0, 2), expand=False) for each in reason_texts(answer.reasons)]
    parts += [Padding(each, (0, 0, 0, 2), expand=False) for each in _when_it_starts(None, answer.estimate, present)]
    if answer.cost is not None and answer.cost.gpu_hours is not None:
        parts.append(Text(f"  {_cost(answer.cost.gpu_hours, answer.cost.price, has_limit=has_limit)}", style="dim"))
    return Group(*parts)


def _cost(gpu_hours: float, price: float | None, *, has_limit: bool) -> str:
    """The cost in words. A price of 1 per GPU-hour is the default, so no operator has set it, and it is not shown."""
    at = "" if price is None or price == gpu_hours else f", {price:,.2f} at list price"
    assumed = "" if has_limit else "\n  without max_duration: this is if it runs as long as its tier allows"
    return f"costs up to {gpu_hours:,.1f} GPU-h{at}{assumed}"


def placement_text(workers: Sequence[Worker]) -> str:
    """`n[1-2] with 16 GPUs`. For a single worker also which GPUs."""
    total = sum(each.share if each.share is not None else len(each.gpus) for each in workers)
    which = f" ({ranks(workers[0].gpus)})" if len(workers) == 1 and workers[0].gpus else ""
    gpus = f" with {amount(total)} {'GPU' if total == 1 else 'GPUs'}{which}" if total else ""
    return f"{node_ranges(each.node for each in workers)}{gpus}"


def reason_texts(reasons: Sequence[Reason]) -> Iterator[Text]:
    """A paragraph for each reason."""
    for reason in reasons:
        text = Text.assemble((reason.code, "yellow"), f": {one_line(reason.message)}")
        if reason.would_help:
            text.append("\n  would help: ", style="dim").append(one_line(reason.would_help))
        yield text


def _when_it_starts(hold: Hold | None, estimate: Estimate | None, present: datetime) -> Iterator[Text]:
    if hold is not None and hold.start is not None:
        where = f" on {node_ranges(hold.nodes)}" if hold.nodes else ""
        when = f"{until(hold.start, present)} ({clock(hold.start, present)})"
        yield Text.assemble(("promised", "green"), f": starts {when} at the latest{where}")
    if estimate is not None and estimate.p50 is not None:
        likely = f"{until(estimate.p50, present)} ({clock(estimate.p50, present)})"
        late = f", nine times in ten {until(estimate.p90, present)}" if estimate.p90 is not None else ""
        yield Text.assemble(("estimate", "cyan"), f": likely to start {likely}{late}")
