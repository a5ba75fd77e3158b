"""Why a job waits, and what a dry run says: reasons with what would help, promises, estimates."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from rich.console import Console, Group, RenderableType
from rich.padding import Padding

from muster.cli.drawing.state_words import job_state
from muster.cli.drawing.wording import amount, clock, ranks
from muster.cli.terminal.screen import is_plain
from muster.cli.terminal.text import Text
from muster.client.answers import DryRun, Effect, Estimate, Reason, Remark, Why, Worker
from muster.formats.text.ranges import node_ranges
from muster.model.printable import one_line


def why_text(why: Why, console: Console, present: datetime) -> RenderableType:
    """The answer in one sentence, all reasons, what would help, and when the job starts: the server's own sentences."""
    head = Text.assemble((why.job, "bold"), "  ", job_state(why.state, plain=is_plain(console)))
    parts: list[RenderableType] = [head, *_indented(_headline(why.headline))]
    if why.problem:
        parts.append(Text(f"  its program could not be started: {one_line(why.problem)}", style="red"))
    parts += _indented(reason_texts(why.reasons))
    parts += _indented(_changes(why.starts_if))
    parts += _indented(_remark(each, present) for each in why.when)
    return Group(*parts)


def dry_run_text(answer: DryRun, present: datetime, *, has_limit: bool) -> RenderableType:
    """Where a job would go now, or why it would wait and until when, and what it may cost.

    For a job without a limit of its own, the cost assumes the limit of its tier.
    """
    parts: list[RenderableType] = []
    if answer.placement is not None:
        parts.append(Text.assemble(("would start now", "green"), f" on {placement_text(answer.placement)}"))
    else:
        parts += [Text("would wait", style="yellow"), *_indented(_headline(answer.headline))]
    parts += _indented(reason_texts(answer.reasons))
    parts += _indented(_changes(answer.starts_if))
    parts += _indented(_remark(each, present) for each in answer.when)
    parts += _indented(effect_texts(answer.admission, would=True))
    if answer.cost is not None and answer.cost.gpu_hours is not None:
        parts.append(Text(f"  {_cost(answer.cost.gpu_hours, answer.cost.price, has_limit=has_limit)}", style="dim"))
    return Group(*parts)


def effect_texts(effects: Sequence[Effect], *, would: bool = False) -> Iterator[Text]:
    """What admission rules did to a job."""
    for effect in effects:
        yield Text(effect_text(effect, would=would), style="dim" if effect.keys else "yellow")


def effect_text(effect: Effect, *, would: bool = False) -> str:
    """`the rule "limits" set max_duration`."""
    if effect.message:
        return f"the admission rule {effect.rule!r} warns: {one_line(effect.message)}"
    return one_line(f"the admission rule {effect.rule!r} {'would set' if would else 'set'} {', '.join(effect.keys)}")


def _headline(headline: str) -> Iterator[Text]:
    """Nothing if the server is older and sends none."""
    if headline:
        yield Text(one_line(headline))


def _indented(texts: Iterable[Text]) -> list[RenderableType]:
    return [Padding(each, (0, 0, 0, 2), expand=False) for each in texts]


def _cost(gpu_hours: float, price: float | None, *, has_limit: bool) -> str:
    """The cost in words, with the price where an operator has set one."""
    at = "" if price is None else f", {price:,.2f} at list price"
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
        if reason.detail:
            text.append(f"\n  {one_line(reason.detail)}", style="dim")
        if reason.would_help:
            text.append("\n  would help: ", style="dim").append(one_line(reason.would_help))
        yield text


def _changes(starts_if: Sequence[str]) -> Iterator[Text]:
    """What would start the job now."""
    if starts_if:
        yield Text.assemble(("it would start now", "green"), f" {' or '.join(map(one_line, starts_if))}")


def _remark(remark: Remark, present: datetime) -> Text:
    """A sentence about when a job starts, and the exact time on this machine's clock."""
    at = "" if remark.at is None else f"  ({clock(remark.at, present)})"
    return Text.assemble(one_line(remark.text), (at, "dim"))


def grounds_text(estimate: Estimate) -> str:
    """What an estimate rests on, and how good such estimates were."""
    return f"Estimates rest on {one_line(estimate.rests_on)}. {one_line(estimate.track_record)}".rstrip()
